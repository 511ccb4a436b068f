// The TypeScript SDK 2.x as an MCP client of either protocol era, over HTTP or over the stdio bridge.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { options, run, say, script } from './script.mjs';

const headers = { ...script.headers, Authorization: `Bearer ${script.token}` };
const mode = script.era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const client = new Client({ name: 'peer-sdk2', version: '1' }, { versionNegotiation: { mode } });
const transport = script.bridge
  ? new StdioClientTransport({ command: script.bridge, args: ['mcp', '--url', script.url, '--token', script.token] })
  : new StreamableHTTPClientTransport(new URL(script.url), { requestInit: { headers } });
await client.connect(transport);
await client.listTools();
say('connected');
await run(() => client.callTool({ name: script.name, arguments: script.args }, options()), transport);
