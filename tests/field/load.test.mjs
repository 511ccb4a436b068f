// Sections K, L and N of the table: many at once, and callers that hang up.
import assert from 'node:assert/strict';

import { TEXT, WHITE, pause, probe, until } from './stage.mjs';

const RESPOND = 'mutation($input: RespondInput!) { respond(input: $input) { __typename } }';

/** A response whose client hangs up after so many milliseconds. */
async function hangUp(stage, pendingId, ms) {
  const input = { pendingId, clientKey: `answer ${pendingId}`, answers: WHITE };
  await stage.post(RESPOND, { input }, { signal: AbortSignal.timeout(ms) }).then((response) => response.text()).catch(() => {});
}

probe('K1', 'sixty-four answers and as many turns at once meet no lock', async (stage) => {
  const sessions = await Promise.all(Array.from({ length: 128 }, () => stage.session()));
  for (let round = 0; round < 3; round += 1) {
    const asked = await Promise.all(sessions.map((session) => stage.ask(session)));
    const acts = [...asked.slice(0, 64).map((each) => stage.respond(each)), ...sessions.slice(64).map((session) => stage.turn(session))];
    const told = await Promise.all(acts);
    assert.deepEqual(new Set(told.slice(0, 64).map((result) => result.__typename)), new Set(['ResponseAccepted']));
    assert.ok(told.slice(64).every((turn) => typeof turn === 'string'));
  }
});

probe('K3', 'two, three, sixteen or sixty-four writers all get through', async (stage) => {
  const sessions = await Promise.all(Array.from({ length: 64 }, () => stage.session()));
  for (const writers of [2, 3, 4, 16, 64]) {
    const said = await Promise.all(sessions.slice(0, writers).map((session) => stage.say(session, 'Hello')));
    assert.ok(said.every(({ messageId }) => messageId));
  }
});

probe('K5', 'callers that hang up break nothing, and every answer has one fate', async (stage) => {
  const asked = await Promise.all(Array.from({ length: 200 }, async () => stage.ask(await stage.session())));
  for (let at = 0; at < asked.length; at += 20) await Promise.all(asked.slice(at, at + 20).map((each, n) => hangUp(stage, each, n + 1)));
  const again = await Promise.all(asked.map((each) => stage.respond(each)));
  assert.deepEqual(new Set(again.map((result) => result.__typename)), new Set(['ResponseAccepted']));
  assert.equal(stage.agent.prompts.length, asked.length);
});

probe('L3', 'after a caller hung up, an outsider can write at once', async (stage) => {
  const asked = await stage.ask(await stage.session());
  await hangUp(stage, asked, 1);
  await pause(300);
  stage.sql('UPDATE tasks SET title = title');
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
});

probe('L7', 'an answer whose caller hung up goes on to its end', { script: ['hang'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  await hangUp(stage, asked, 300);
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  stage.agent.release();
  const again = await stage.respond(asked);
  assert.deepEqual([again.__typename, again.replayed], ['ResponseAccepted', true]);
  assert.equal(stage.agent.prompts.length, 1);
});

probe('N1', 'long questions and answers are stored and delivered whole', async (stage) => {
  const prompt = '界'.repeat(4_000);
  const answer = '答'.repeat(2_000);
  const asked = await stage.ask(await stage.session(), [{ ...TEXT, prompt }], { context: '文'.repeat(4_000) });
  assert.equal((await stage.bundle(asked)).questions[0].prompt, prompt);
  await stage.respond(asked, [{ questionId: 'q1', customText: answer }]);
  assert.ok(stage.agent.prompts[0].data.prompt.includes(answer));
});
