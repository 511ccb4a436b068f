// The log, at its loudest, has no word of a question or an answer in it and no token (H-20), on any way in or out.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { follow } from './follow.mjs';
import { Stage, TEXT, until } from '../field/stage.mjs';

/** Words that stand nowhere else. */
const WORDS = {
  title: 'Heliotrope title', prompt: 'Periwinkle prompt', answer: 'Vermilion answer', reason: 'Chartreuse reason', turn: 'Aquamarine turn',
  message: 'Cerulean message', secret: 'Xanadu secret\nERROR a line that the answer made up',
};

const CHANGES = 'subscription ($s: ID!) { sessionChanges(sessionId: $s) { __typename ... on MessageAdded { message { content clarification { questions { prompt answer { customText } } } } } ... on MessageUpdated { message { clarification { questions { answer { customText } } } } } } }';

test('nothing that people or agents said, and no token, is logged at any level', { timeout: 120_000 }, async (t) => {
  const stage = await Stage.open(t, { filter: 'trace' });
  const session = await stage.session({ task: await stage.task(WORDS.title) });
  const { createToken } = await stage.graphql('mutation { createToken(input: { role: OPERATOR, name: "own" }) { ... on CreateTokenPayload { token } } }');
  const { token } = createToken;
  const graphql = (query, variables) => stage.graphql(query, variables, token);
  const input = (name, kind, value) => graphql(`mutation($input: ${kind}!) { ${name}(input: $input) { __typename ${name === 'askClarification' ? '... on ClarificationOutcome { pendingId }' : ''} } }`, { input: value });
  const heard = [];
  const { socket, started } = follow(stage.address, CHANGES, { variables: { s: session }, token, hear: (payload) => heard.push(payload) });
  await started;
  const stream = await fetch(`http://${stage.address}/graphql`, {
    method: 'POST', headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ query: CHANGES, variables: { s: session } }),
  });
  assert.equal(stream.status, 200);
  await input('appendMessage', 'AppendMessageInput', { sessionId: session, content: WORDS.message });
  for (const [clientKey, extra, text] of [['plain', {}, WORDS.answer], ['secret', { secret: true }, WORDS.secret]]) {
    const { askClarification } = await input('askClarification', 'AskClarificationInput', { sessionId: session, questions: [{ ...TEXT, prompt: WORDS.prompt, ...extra }], clientKey });
    const { respond } = await input('respond', 'RespondInput', { pendingId: askClarification.pendingId, answers: [{ questionId: 'q1', customText: text }], clientKey });
    assert.equal(respond.__typename, 'ResponseAccepted');
  }
  const { askClarification } = await input('askClarification', 'AskClarificationInput', { sessionId: session, questions: [TEXT], clientKey: 'skipped' });
  await input('skip', 'SkipInput', { pendingId: askClarification.pendingId, reason: WORDS.reason, clientKey: 'skip' });
  await input('sendPrompt', 'SendPromptInput', { sessionId: session, text: WORDS.turn, clientKey: 'turn' });
  // What is refused is no reason to quote it.
  await stage.post(`{ task(id: "${WORDS.answer}") { nothing } }`, {}, { token });
  await stage.post('{ viewer { role } }', {}, { token: `${token}x` });
  await until('the answer is told', () => JSON.stringify(heard).includes(WORDS.answer));
  socket.terminate();
  await stream.body.cancel();
  await stage.stop('SIGTERM');
  assert.match(stage.log, /TRACE/);
  for (const [name, word] of Object.entries({ ...WORDS, token })) {
    const line = stage.log.split('\n').find((candidate) => candidate.includes(word.split('\n')[0]));
    assert.equal(line?.slice(0, 400), undefined, `${name} is in the log`);
  }
  assert.doesNotMatch(stage.log, /a line that the answer made up/);
});

test('a cap on what is logged raises nothing above what was asked for', async (t) => {
  const stage = await Stage.open(t, { filter: 'info' });
  const { socket, started, closed } = follow(stage.address, 'subscription { taskChanges { cursor } }');
  await started;
  socket.terminate();
  await closed;
  await stage.stop('SIGTERM');
  assert.match(stage.log, /INFO/);
  assert.doesNotMatch(stage.log, /DEBUG|TRACE/);
});
