// An ACP agent of the first version on the protocol's own SDK. It does what a word `do:…` of its prompt or PEER_DO says, and writes
// what happens to it as JSON lines into the file PEER_JOURNAL.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const { PEER_JOURNAL, PEER_START, PEER_CAN, PEER_MCP = 'http', PEER_DO = 'twice', PEER_LATE_MS = '3000' } = process.env;
const note = (event, more = {}) => appendFileSync(PEER_JOURNAL, `${JSON.stringify({ event, pid: process.pid, ...more })}\n`);
const never = () => new Promise(() => {});
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const servers = new Map();
const cancels = new Map();

/** What the agent says, thinks or does. */
function teller(client, sessionId) {
  const update = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
  return {
    say: (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
    call: (title) => update({ sessionUpdate: 'tool_call', toolCallId: title, title, status: 'in_progress' }),
    commands: () => update({ sessionUpdate: 'available_commands_update', availableCommands: [] }),
  };
}

/** The way to the MCP server that the session was begun with. */
function transport(server) {
  const named = (list) => Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if (server.command) return new StdioClientTransport({ ...server, env: named(server.env) });
  return new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: named(server.headers) } });
}

async function ask(sessionId) {
  const [server] = servers.get(sessionId);
  const client = new Client({ name: 'acp-peer', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport(server));
  const question = { question: 'Which colour?', options: [{ label: 'red' }, { label: 'green' }] };
  const result = await client.callTool({ name: 'ask_user_question', arguments: { questions: [question] } });
  note('answered', { result: result.structuredContent });
  return result.structuredContent;
}

const scripts = {
  refuse: () => { throw acp.RequestError.internalError(undefined, 'not today'); },
  vanish: () => process.exit(9),
  hang: never,
  late: async ({ say }) => { await later(Number(PEER_LATE_MS)); await say('late'); },
  twice: async ({ say }) => { await say('one '); await say('two'); },
  crash: async ({ say }) => { await say('half a '); await later(300); process.exit(9); },
  work: async ({ say, cancelled }) => { await say('working'); await cancelled; return 'cancelled'; },
  stubborn: async ({ say }) => { await say('working'); await never(); },
  ask: async ({ call, say, sessionId }) => {
    await call('ask_user_question');
    const { status, answers } = await ask(sessionId);
    await say(`${status} ${answers?.q1?.selected ?? ''}`);
  },
  permit: async ({ call, say, client, sessionId }) => {
    await call('delete');
    const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId: 'delete', title: 'Delete everything' },
      options: [
        { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
        { optionId: 'no', name: 'No', kind: 'reject_once' },
      ],
    });
    note('permission', { outcome });
    await say(`permission ${outcome.optionId ?? outcome.outcome}`);
  },
  commands: async ({ commands }) => { await commands(); await never(); },
  chatter: async ({ say }) => { for (let i = 0; i < 5; i += 1) await say('z'.repeat(500)); },
  flood: async ({ say }) => {
    for (let i = 0; i < 200; i += 1) {
      if (!process.stderr.write('x'.repeat(100_000))) await new Promise((drained) => process.stderr.once('drain', drained));
    }
    await say('flooded');
  },
  long: async ({ say }) => { await say('y'.repeat(20_000_000)); await never(); },
  brood: async ({ say }) => {
    const child = spawn('sleep', ['1000'], { stdio: 'inherit' });
    note('child', { child: child.pid });
    await say('brooding');
  },
};

async function prompt({ params: { sessionId, prompt: content }, client }) {
  const text = content.map((block) => block.text).join('');
  note('prompt', { sessionId, text });
  const cancelled = new Promise((resolve) => cancels.set(sessionId, resolve));
  const script = scripts[/do:(\w+)/.exec(text)?.[1] ?? PEER_DO];
  const stopReason = await script({ ...teller(client, sessionId), client, sessionId, cancelled });
  note('done', { stopReason: stopReason ?? 'end_turn' });
  return { stopReason: stopReason ?? 'end_turn' };
}

function begin(event) {
  return ({ params }) => {
    const sessionId = params.sessionId ?? `conversation-${process.pid}`;
    note(event, { sessionId, cwd: params.cwd });
    if (event !== 'new' && PEER_START === 'forgetful') throw acp.RequestError.internalError(undefined, 'no such session');
    servers.set(sessionId, params.mcpServers);
    return event === 'new' ? { sessionId } : {};
  };
}

note('start', { env: process.env });
if (PEER_START === 'exit') process.exit(3);
const agent = acp.agent({ name: 'peer' })
  .onRequest(acp.methods.agent.initialize, ({ params }) => (PEER_START === 'hang' ? never() : {
    protocolVersion: params.protocolVersion,
    agentCapabilities: {
      loadSession: PEER_CAN === 'load',
      mcpCapabilities: { http: PEER_MCP === 'http' },
      sessionCapabilities: PEER_CAN === 'resume' ? { resume: {} } : {},
    },
  }))
  .onRequest(acp.methods.agent.session.new, begin('new'))
  .onRequest(acp.methods.agent.session.load, begin('load'))
  .onRequest(acp.methods.agent.session.resume, begin('resume'))
  .onRequest(acp.methods.agent.session.prompt, prompt)
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => {
    note('cancel');
    cancels.get(params.sessionId)?.();
  });
const connection = agent.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
// A deaf agent does not end when its server is gone.
if (PEER_START !== 'deaf') process.exit(0);
process.stdout.on('error', () => {});
setInterval(() => {}, 1000);
