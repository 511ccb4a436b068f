// Sections D and E of the table: what counts as an answer, and what becomes of it on its way.
import assert from 'node:assert/strict';

import { CHOICE, TEXT, WHITE, pause, probe, until } from './stage.mjs';

const THREE = [CHOICE, TEXT, TEXT];
const said = (questionId, customText) => ({ questionId, customText });
const state = async (stage, pendingId) => (await stage.bundle(pendingId)).state;

probe('D1', 'a blank answer is none', async (stage) => {
  const asked = await stage.ask(await stage.session(), [TEXT]);
  const blank = [[], [said('q1', '')], [said('q1', ' \n\t')], [said('q1', null)], [{ questionId: 'q1', optionIds: [] }]];
  for (const [index, answers] of blank.entries()) {
    const { __typename, errors } = await stage.respond(asked, answers, `blank ${index}`);
    assert.equal(__typename, 'InvalidResponse', JSON.stringify(answers));
    assert.ok(errors[0].path && errors[0].code);
  }
  assert.equal(await state(stage, asked), 'ACTIVE_DETACHED');
  assert.equal(stage.agent.prompts.length, 0);
});

probe('D2', 'two answers of three are refused whole, and the third is named', async (stage) => {
  const asked = await stage.ask(await stage.session(), THREE);
  const part = await stage.respond(asked, [...WHITE, said('q2', 'Beware')]);
  assert.deepEqual([part.__typename, part.errors.map((error) => error.code)], ['InvalidResponse', ['REQUIRED']]);
  assert.match(part.errors[0].message, /q3/);
  assert.ok((await stage.bundle(asked)).questions.every((question) => question.status === 'PENDING' && question.answer === null));
});

probe('D5', 'of two bundles only the named one is answered', async (stage) => {
  const session = await stage.session({ executor: 'platform' });
  const [one, two] = [await stage.ask(session, [CHOICE]), await stage.ask(session, [TEXT])];
  await stage.skip(two);
  assert.deepEqual([await state(stage, one), await state(stage, two)], ['ACTIVE_DETACHED', 'TERMINAL']);
});

probe('D7', 'what was not offered is refused before anything changes', async (stage) => {
  const asked = await stage.ask(await stage.session(), [CHOICE, TEXT]);
  const wrong = [
    [{ questionId: 'q1', optionIds: ['q1_opt9'] }, said('q2', 'x')],
    [{ questionId: 'q1', optionIds: ['q1_opt1', 'q1_opt2'] }, said('q2', 'x')],
    [{ questionId: 'q1', optionIds: ['q1_opt1'], customText: 'Blue' }, said('q2', 'x')],
    [...WHITE, said('q2', 'x'.repeat(100_000))],
    [...WHITE, said('q2', 'x'), said('q9', 'x')],
  ];
  for (const [index, answers] of wrong.entries()) assert.equal((await stage.respond(asked, answers, `wrong ${index}`)).__typename, 'InvalidResponse', String(index));
  assert.equal(await state(stage, asked), 'ACTIVE_DETACHED');
  assert.equal(stage.agent.prompts.length, 0);
});

probe('D8', 'a skip and an empty answer have nothing in common', async (stage) => {
  const asked = await stage.ask(await stage.session());
  assert.equal((await stage.respond(asked, [])).__typename, 'InvalidResponse');
  await stage.skip(asked);
  const { response, questions } = await stage.bundle(asked);
  assert.deepEqual([response.status, questions[0].status, questions[0].answer], ['REJECTED', 'REJECTED', null]);
});

probe('D10', 'a dispatched answer carries its bundle and its questions', async (stage) => {
  const asked = await stage.ask(await stage.session(), [CHOICE, TEXT]);
  await stage.respond(asked, [...WHITE, said('q2', 'Mind the dog')]);
  const [{ data }] = stage.agent.prompts;
  assert.equal(data.pendingId, asked);
  assert.deepEqual(data.answers.map((answer) => answer.questionId), ['q1', 'q2']);
  for (const part of ['Which colour?', 'White', 'Mind the dog']) assert.ok(data.prompt.includes(part), part);
});

for (const [id, title, step] of [['E2', 'the agent had it and the server died before it heard so: nothing is sent again', 'hang'], ['E4', 'the agent took it and dropped the line: nothing is sent again', 'drop']]) {
  probe(id, title, { script: [step], flags: ['--dispatch-timeout-ms', '60000'] }, async (stage) => {
    const session = await stage.session();
    const asked = await stage.ask(session);
    const answered = stage.respond(asked).catch(() => null);
    await until('the agent has it', () => stage.agent.prompts.length === 1);
    if (step === 'hang') await stage.restart();
    else assert.deepEqual({ ...(await answered) }, { __typename: 'DeliveryFailed', code: 'UNKNOWN', retryable: false });
    const bundle = await stage.bundle(asked);
    assert.deepEqual([bundle.state, bundle.outcome, bundle.dispatchOutcome], ['TERMINAL', 'ANSWERED', 'UNKNOWN']);
    assert.equal((await stage.respond(asked, WHITE, 'again')).__typename, 'ResponseConflict');
    const { ambiguousDispatches } = await stage.graphql('{ ambiguousDispatches(first: 10) { id } }');
    assert.equal(ambiguousDispatches.length, 1);
    await stage.restart();
    assert.equal(stage.agent.prompts.length, 1);
  });
}

probe('E6', 'a second process does not touch what the first one holds', { script: ['hang'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  const answered = stage.respond(asked);
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  const rival = new stage.constructor();
  rival.database = stage.database;
  await assert.rejects(rival.start('--log-filter', 'off'), /ended before it listened/);
  stage.agent.release();
  assert.equal((await answered).__typename, 'ResponseAccepted');
  assert.equal(stage.agent.prompts.length, 1);
});

probe('E7', 'an answer that meets a busy agent is delivered or given back, and is never final without delivery', { script: ['hang'], flags: ['--ready-wait-ms', '1000'] }, async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  const answered = stage.respond(asked);
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  const other = await stage.prompt(session, 'And now?');
  assert.deepEqual([other.refusal, other.retryable], ['DISPATCH_UNRESOLVED', true]);
  stage.agent.release();
  assert.equal((await answered).__typename, 'ResponseAccepted');
  assert.equal((await stage.bundle(asked)).dispatchOutcome, 'ACCEPTED');
});

probe('E8', 'each failure says whether sending again may help, and that is so', { script: [503, 'drop'], flags: ['--publish-timeout-ms', '500'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  const refused = await stage.respond(asked, WHITE, 'one');
  assert.deepEqual([refused.__typename, refused.code, refused.retryable], ['DeliveryFailed', 'REJECTED', true]);
  assert.equal(await state(stage, asked), 'ACTIVE_DETACHED');
  const unknown = await stage.respond(asked, WHITE, 'two');
  assert.deepEqual([unknown.code, unknown.retryable], ['UNKNOWN', false]);
  assert.equal((await stage.respond(asked, WHITE, 'three')).reason, 'TERMINAL');
  const nobody = await stage.ask(await stage.session({ executor: null }));
  const unreached = await stage.respond(nobody, WHITE);
  assert.deepEqual([unreached.code, unreached.retryable, await state(stage, nobody)], ['AGENT_UNREACHABLE', true, 'ACTIVE_DETACHED']);
});

probe('E10', 'of thirty-two answers at once one counts, and the others learn whose', async (stage) => {
  const asked = await stage.ask(await stage.session());
  const results = await Promise.all(Array.from({ length: 32 }, (_, n) => stage.respond(asked, WHITE, `answer ${n}`)));
  const told = results.map((result) => result.__typename).sort();
  assert.deepEqual(told, ['ResponseAccepted', ...Array(31).fill('ResponseConflict')]);
  assert.equal(stage.agent.prompts.length, 1);
});

probe('E11', 'an answer that is there before the wait is what the wait returns', { flags: ['--respond-wait-ms', '5000'] }, async (stage) => {
  for (const executor of ['platform', null]) {
    const asked = await stage.ask(await stage.session({ executor }));
    const answered = stage.respond(asked);
    const outcome = await stage.wait(asked);
    assert.equal(outcome.status, 'ANSWERED');
    assert.deepEqual(outcome.answers[0].selected, ['White']);
    assert.equal((await answered).__typename, 'ResponseAccepted');
  }
});

probe('E14', 'one key on two bundles is two answers', async (stage) => {
  const asked = [await stage.ask(await stage.session()), await stage.ask(await stage.session())];
  for (const each of asked) {
    const { __typename, replayed } = await stage.respond(each, WHITE, 'same');
    assert.deepEqual([__typename, replayed], ['ResponseAccepted', false]);
  }
  assert.equal(stage.agent.prompts.length, 2);
});

probe('E16', 'a session that ends under an answer in flight gives it a typed end', { script: ['hang'], flags: ['--dispatch-timeout-ms', '3000'] }, async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  const answered = stage.respond(asked);
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  await stage.setState(session, 'CANCELLED');
  const { __typename, reason } = await answered;
  assert.deepEqual([__typename, reason], ['ResponseConflict', 'SESSION_ENDED']);
  assert.equal((await stage.view(session)).projection.action, null);
});

probe('E17', 'who lost the line and sends the same again gets the first outcome', { script: ['hang'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  const cut = new AbortController();
  const query = 'mutation($input: RespondInput!) { respond(input: $input) { __typename } }';
  const call = stage.post(query, { input: { pendingId: asked, clientKey: `answer ${asked}`, answers: WHITE } }, cut);
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  cut.abort();
  await assert.rejects(call);
  stage.agent.release();
  const again = await stage.respond(asked);
  assert.deepEqual([again.__typename, again.replayed], ['ResponseAccepted', true]);
  assert.equal(stage.agent.prompts.length, 1);
});

probe('E18', 'the same holds over kill -9, and the key takes no other answer', async (stage) => {
  const asked = await stage.ask(await stage.session());
  await stage.respond(asked, WHITE, 'mine');
  await stage.restart();
  const again = await stage.respond(asked, WHITE, 'mine');
  assert.deepEqual([again.__typename, again.replayed], ['ResponseAccepted', true]);
  const other = await stage.respond(asked, [{ questionId: 'q1', optionIds: ['q1_opt2'] }], 'mine');
  assert.deepEqual([other.__typename, other.refusal], ['Refused', 'KEY_REUSED']);
  assert.equal(stage.agent.prompts.length, 1);
});

probe('E19', 'killed at any moment of an answer, a second restart finds nothing to do', async (stage) => {
  const row = (table, columns) => `SELECT '${table}', json_array(${columns}) FROM ${table}`;
  const all = () => stage.sql([
    row('task_session_messages', 'id, turn_id, metadata, updated_us'),
    row('task_session_turns', 'id, metadata, ended_us'),
    row('task_sessions', 'id, state, generation, sequence'),
    row('outbox_events', 'position, event_id, body'),
  ].join(' UNION ALL '));
  for (let run = 0; run < 12; run += 1) {
    const session = await stage.session();
    const asked = await stage.ask(session);
    const prompts = stage.agent.prompts.length;
    const answered = stage.respond(asked).catch(() => null);
    await pause(run * 2);
    await stage.restart();
    await answered;
    await pause(100); // what the relay had in hand is written down
    const first = all();
    await stage.restart();
    await pause(100);
    assert.deepEqual(all(), first);
    const sent = stage.agent.prompts.length - prompts;
    const now = await state(stage, asked);
    assert.ok(sent <= 1 && (sent === 0 || now === 'TERMINAL') && (now !== 'ACTIVE_DETACHED' || sent === 0), `${sent} sent, ${now}`);
    if (now === 'ACTIVE_DETACHED') assert.equal((await stage.respond(asked, WHITE, 'after')).__typename, 'ResponseAccepted');
  }
});

probe('E20', 'what knocks while a server starts meets a recovered session, and begins one turn', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  await stage.stop('SIGKILL');
  let isUp = false;
  const knock = async () => {
    while (!isUp) {
      const result = await stage.respond(asked, WHITE, 'knock').catch(() => null);
      if (result) return result;
    }
    return stage.respond(asked, WHITE, 'knock');
  };
  const knocking = Array.from({ length: 20 }, knock);
  await stage.up();
  isUp = true;
  const told = (await Promise.all(knocking)).map((result) => result.__typename);
  assert.deepEqual(new Set(told), new Set(['ResponseAccepted']));
  assert.equal(stage.agent.prompts.length, 1);
  const open = (await stage.view(session)).turns.edges.filter(({ node }) => node.end === null);
  assert.equal(open.length, 1);
});
