// The TypeScript SDK 2.x as an MCP client of either protocol era.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { options, run, say, script } from './script.mjs';

const headers = script.token ? { Authorization: `Bearer ${script.token}` } : {};
const mode = script.era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const client = new Client({ name: 'peer-sdk2', version: '1' }, { versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(script.url), { requestInit: { headers } }));
await client.listTools();
say('connected');
await run(() => client.callTool({ name: script.name, arguments: script.args }, options()));
