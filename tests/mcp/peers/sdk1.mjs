// The TypeScript SDK 1.x as an MCP client (protocol revisions before 2026-07-28).
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { options, run, say, script } from './script.mjs';

const headers = { ...script.headers, Authorization: `Bearer ${script.token}` };
const client = new Client({ name: 'peer-sdk1', version: '1' });
const transport = new StreamableHTTPClientTransport(new URL(script.url), { requestInit: { headers } });
await client.connect(transport);
await client.listTools();
say('connected');
await run(() => client.callTool({ name: script.name, arguments: script.args }, undefined, options()), transport);
