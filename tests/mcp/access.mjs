// Who may do what over MCP: tokens, roles, sessions of others, input in the words of a question.
import assert from 'node:assert/strict';

import { connected, Server, tool } from './server.mjs';

const server = await new Server().start();
const { agents, person } = await server.seed(2);
const [own, other] = agents;

async function check(name, run) {
  await run();
  console.log(`ok   ${name}`);
}

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize' };
initialize.params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tests', version: '1' } };

function post(headers, body = initialize) {
  const accept = 'application/json, text/event-stream';
  const all = { accept, 'content-type': 'application/json', ...headers };
  return fetch(server.url, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

const names = (token) => connected(server, token, async (client) => (await client.listTools()).tools.map((one) => one.name));
const bearer = (token) => ({ authorization: `Bearer ${token}` });
const TWO = [{ question: 'Why?' }, { question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }];

await check('no token, a wrong one and another scheme get 401 with a challenge', async () => {
  for (const headers of [{}, bearer('nonsense'), { authorization: 'Basic abc' }, { authorization: 'Bearer' }]) {
    const response = await post(headers);
    assert.equal(response.status, 401);
    assert.match(response.headers.get('www-authenticate'), /^Bearer realm="answerable"/);
  }
});

await check('with tokens, naming a session without one opens nothing', async () => {
  assert.equal((await post({ 'x-answerable-session': 'any' })).status, 401);
  assert.equal((await fetch(`${server.url}?session=any`)).status, 401);
});

await check('a foreign host and a foreign origin are turned away', async () => {
  assert.equal((await post({ ...bearer(own), origin: 'https://evil.example' })).status, 403);
  assert.equal((await post({ ...bearer(own), origin: 'http://localhost:3000' })).status, 200);
});

await check("an MCP session is its caller's own", async () => {
  const id = (await post(bearer(own))).headers.get('mcp-session-id');
  assert.ok(id);
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
  assert.equal((await post({ ...bearer(other), 'mcp-session-id': id }, ping)).status, 404);
  assert.equal((await post({ ...bearer(own), 'mcp-session-id': `${id}0` }, ping)).status, 404);
  assert.equal((await post({ ...bearer(own), 'mcp-session-id': id }, ping)).status, 200);
});

await check('tools differ by role, and those of others do not exist', async () => {
  assert.deepEqual(await names(own), ['ask_user_question', 'await_user_answer', 'list_my_questions']);
  assert.deepEqual(await names(person), ['list_pending_questions', 'answer_question', 'skip_question']);
  const args = { pendingId: 'x', answers: [] };
  await assert.rejects(tool(server, own, 'answer_question', args), /Unknown tool: answer_question/);
  await assert.rejects(tool(server, person, 'ask_user_question', args), /Unknown tool: ask_user_question/);
});

await check("another agent's question is answered like one that does not exist", async () => {
  const { pendingId } = await tool(server, own, 'ask_user_question', { questions: TWO, maxWaitSeconds: 0 });
  const [foreign, absent] = await Promise.all(
    [pendingId, 'absent'].map((id) => tool(server, other, 'await_user_answer', { pendingId: id }).catch((error) => error)),
  );
  assert.equal(foreign.code, 'NOT_FOUND');
  assert.deepEqual({ ...foreign }, { ...absent });
  assert.deepEqual((await tool(server, other, 'list_my_questions', {})).bundles, []);
});

await check('a bad answer is refused by field, and the question stays', async () => {
  const [{ pendingId }] = (await tool(server, person, 'list_pending_questions', {})).bundles;
  const answer = (answers) => tool(server, person, 'answer_question', { pendingId, answers }).catch((error) => error);
  const paths = (refusal) => refusal.fields?.map((field) => `${field.path} ${field.code}`);
  assert.deepEqual(paths(await answer([{ text: 'because' }])), ['answers[0].questionId REQUIRED']);
  assert.deepEqual(paths(await answer([{ questionId: 'q1', text: 'because' }])), ['answers REQUIRED']);
  const long = { questionId: 'q1', text: 'x'.repeat(2_001) };
  const wrong = { questionId: 'q2', selected: ['C'] };
  assert.deepEqual(paths(await answer([long, wrong])), ['answers[0].customText TOO_LONG', 'answers[1].optionIds UNKNOWN']);
  assert.equal((await tool(server, person, 'list_pending_questions', {})).bundles[0].pendingId, pendingId);
});

await check('the same key with other questions is refused by name', async () => {
  const ask = (question) =>
    tool(server, other, 'ask_user_question', { questions: [{ question }], requestKey: 'k', maxWaitSeconds: 0 });
  const first = await ask('One?');
  assert.equal((await ask('One?')).pendingId, first.pendingId);
  await assert.rejects(ask('Two?'), { code: 'KEY_REUSED', message: /^requestKey / });
});

assert.equal(await server.stop('SIGTERM'), 0);
