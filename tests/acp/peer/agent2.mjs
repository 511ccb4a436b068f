// An ACP agent of the second version, a draft: it answers a prompt when it takes it, and works then. It does what a word
// `do:…` of its prompt says, and writes what happens to it as JSON lines into the file PEER_JOURNAL.
import { appendFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk/experimental/v2';

const note = (event, more = {}) =>
  appendFileSync(process.env.PEER_JOURNAL, `${JSON.stringify({ event, pid: process.pid, ...more })}\n`);

/** What it does once the prompt is answered. */
async function work(client, sessionId) {
  const update = (update) => client.notify(acp.methods.client.session.update, { sessionId, update });
  await update({ sessionUpdate: 'state_update', state: 'running' });
  for (const text of ['half ', 'and half']) {
    await update({ sessionUpdate: 'agent_message_chunk', messageId: 'm', content: { type: 'text', text } });
  }
  await update({ sessionUpdate: 'state_update', state: 'idle', stopReason: 'end_turn' });
}

async function prompt({ params, client }) {
  const text = params.prompt.map((block) => block.text).join('');
  note('prompt', { text });
  if (text.includes('do:refuse')) throw acp.RequestError.internalError(undefined, 'not today');
  if (text.includes('do:silent')) {
    await work(client, params.sessionId);
    await new Promise(() => {});
  }
  setTimeout(() => work(client, params.sessionId), 50);
  return { messageId: 'taken' };
}

const begin = (event) => ({ params }) => {
  note(event, { sessionId: params.sessionId });
  return event === 'new' ? { sessionId: `conversation-${process.pid}` } : {};
};

note('start');
const agent = acp.agent({ name: 'peer' })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: 2,
    info: { name: 'peer', version: '1' },
    capabilities: { session: { mcp: { http: {} } } },
  }))
  .onRequest(acp.methods.agent.session.new, begin('new'))
  .onRequest(acp.methods.agent.session.resume, begin('resume'))
  .onRequest(acp.methods.agent.session.prompt, prompt)
  .onNotification(acp.methods.agent.session.cancel, () => note('cancel'));
const connection = agent.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
process.exit(0);
