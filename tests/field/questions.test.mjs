// Sections A to C of the table: older turns, restarts, waits that end.
import assert from 'node:assert/strict';

import { CHOICE, TEXT, WHITE, pause, probe, revisionOf, until } from './stage.mjs';

const rows = (stage, pendingId) => stage.sql('SELECT id, metadata, updated_us FROM task_session_messages WHERE pending_id = ? ORDER BY id', pendingId);
const ids = (bundles) => bundles.map((bundle) => bundle.pendingId);

/** Runs what must leave a bundle's rows as they are. */
async function untouched(stage, pendingId, act) {
  const before = rows(stage, pendingId);
  const result = await act();
  assert.deepEqual(rows(stage, pendingId), before);
  return result;
}

probe('A1', 'a late skip ends the question and starts nothing; a skip of an older turn changes nothing', async (stage) => {
  const session = await stage.session();
  const first = await stage.ask(session);
  assert.equal((await stage.skip(first)).__typename, 'ResponseAccepted');
  assert.equal((await stage.bundle(first)).outcome, 'REJECTED');
  const second = await stage.ask(session, [TEXT]);
  await stage.turn(session);
  const late = await untouched(stage, second, () => stage.skip(second));
  assert.equal(late.reason, 'SUPERSEDED');
  assert.equal(stage.agent.prompts.length, 0);
});

probe('A2', 'a bookkeeping turn hides no question, however close it begins', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  for (const wait of [0, 1, 5]) {
    await pause(wait);
    await stage.turn(session, { kind: 'BOOKKEEPING' });
    assert.equal((await stage.bundle(asked)).state, 'ACTIVE_DETACHED');
  }
  await stage.turn(session);
  assert.equal((await stage.bundle(asked)).state, 'SUPERSEDED_HISTORY');
});

probe('A3', 'a message that a person writes is a new turn and no answer', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  assert.equal((await untouched(stage, asked, () => stage.prompt(session, 'Leave the fence'))).__typename, 'PromptAccepted');
  const bundle = await stage.bundle(asked);
  assert.deepEqual([bundle.state, bundle.response], ['SUPERSEDED_HISTORY', null]);
  assert.equal(stage.agent.prompts[0].data.prompt, 'Leave the fence');
  assert.equal((await stage.respond(asked)).reason, 'SUPERSEDED');
});

probe('A5', 'a newer turn beside a question runs to its end, and nothing is left over', async (stage) => {
  const session = await stage.session();
  await stage.ask(session);
  const turn = await stage.turn(session);
  assert.equal((await stage.complete(session, turn)).workflowMayAdvance, true);
  assert.deepEqual(await stage.inbox(), []);
  assert.equal((await stage.prompt(session, 'Go on')).__typename, 'PromptAccepted');
});

probe('A6', 'answered questions of five turns never come back, neither in history nor in a stream', async (stage) => {
  const session = await stage.session();
  for (let turn = 0; turn < 5; turn += 1) {
    const asked = await stage.ask(session);
    assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
  }
  assert.deepEqual(await stage.inbox(), []);
  const { items } = await stage.hear(session);
  assert.equal(items[0].session.activeClarification, null);
  const shown = await stage.graphql('query($s: ID!) { session(id: $s) { messages(first: 100) { edges { node { clarification { state } } } } } }', { s: session });
  const states = shown.session.messages.edges.map(({ node }) => node.clarification?.state).filter(Boolean);
  assert.deepEqual(states, Array(5).fill('TERMINAL'));
});

probe('A9', 'prompts after an answer are plain turns', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  await stage.respond(asked);
  const prompts = stage.agent.prompts.length;
  await untouched(stage, asked, async () => {
    for (const text of ['One', 'Two', 'Three']) {
      await stage.complete(session, (await stage.view(session)).currentTurn.id);
      assert.equal((await stage.prompt(session, text)).__typename, 'PromptAccepted');
    }
  });
  assert.deepEqual(stage.agent.prompts.slice(prompts).map(({ data }) => [data.prompt, data.pendingId ?? null]), [['One', null], ['Two', null], ['Three', null]]);
});

probe('A11', 'when a session ends, session, task, inbox and message say the same: nothing waits', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  await stage.setState(session, 'COMPLETED');
  const { projection, activeClarification } = await stage.view(session);
  const bundle = await stage.bundle(asked);
  const [task] = await stage.tasks();
  assert.deepEqual([projection.action, activeClarification, task.pendingAction, await stage.inbox()], [null, null, null, []]);
  assert.deepEqual([bundle.state, bundle.outcome, bundle.canRespond, bundle.canSkip], ['TERMINAL', 'EXPIRED', false, false]);
});

probe('A12', 'a question of one session is none of another', async (stage) => {
  const [asking, other] = [await stage.session(), await stage.session()];
  const heard = [await stage.hear(asking), await stage.hear(other)];
  const before = revisionOf((await stage.view(other)).projection);
  await stage.ask(asking);
  await until('the asking one hears', () => heard[0].items.some((item) => item.__typename === 'MessageAdded'));
  await pause(300);
  assert.equal(heard[1].items.length, 1);
  const { projection } = await stage.view(other);
  assert.deepEqual([projection.action, revisionOf(projection)], [null, before]);
});

probe('A14', 'a newer turn tells everyone once that the older question is none any more', async (stage) => {
  const session = await stage.session();
  const heard = await stage.hear(session);
  const asked = await stage.ask(session);
  await until('the question', () => heard.items.some((item) => item.projection?.action === 'CLARIFICATION'));
  const turn = await stage.turn(session);
  await until('the turn', () => heard.items.some((item) => item.turn?.id === turn && item.__typename === 'TurnStarted'));
  await pause(300);
  const told = heard.items.filter((item) => item.__typename === 'TurnStarted' && item.turn.id === turn);
  assert.deepEqual([told.length, told[0].projection.action], [1, null]);
  const last = heard.items.filter((item) => item.projection).map((item) => revisionOf(item.projection));
  assert.deepEqual(last, [...last].sort((a, b) => (a < b ? -1 : 1)));
  assert.equal((await stage.bundle(asked)).state, 'SUPERSEDED_HISTORY');
});

probe('B1', 'a question outlives kill -9 whole, and is answered once', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session, [CHOICE, TEXT], { context: 'The north side' });
  const whole = await stage.bundle(asked);
  await stage.restart();
  const [found] = await stage.inbox();
  assert.deepEqual(found, whole);
  assert.equal(found.state, 'ACTIVE_DETACHED');
  const answers = [...WHITE, { questionId: 'q2', customText: 'Mind the dog' }];
  assert.equal((await stage.respond(asked, answers, 'a')).__typename, 'ResponseAccepted');
  assert.equal((await stage.respond(asked, answers, 'b')).__typename, 'ResponseConflict');
  assert.equal(stage.agent.prompts.length, 1);
});

probe('B3', 'after a restart a question can be answered, and skipped', async (stage) => {
  const [one, two] = [await stage.session(), await stage.session()];
  const [asked, other] = [await stage.ask(one), await stage.ask(two)];
  await stage.restart();
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
  assert.equal((await stage.skip(other)).__typename, 'ResponseAccepted');
  assert.deepEqual([stage.agent.prompts.length, (await stage.bundle(other)).state], [1, 'TERMINAL']);
});

probe('B4', 'a server that is asked to stop answers for nobody', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  const { outcome } = await stage.live(asked);
  await stage.restart('SIGTERM');
  await outcome.then(({ status }) => assert.equal(status, 'PENDING'), () => {});
  const bundle = await stage.bundle(asked);
  assert.deepEqual([bundle.state, bundle.response, bundle.questions[0].answer], ['ACTIVE_DETACHED', null, null]);
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
});

probe('B6', 'who comes back is shown what is open, under its own id, or that it is settled', async (stage) => {
  const session = await stage.session();
  const heard = await stage.hear(session);
  const asked = await stage.ask(session);
  heard.socket.terminate();
  assert.equal((await stage.hear(session)).items[0].session.activeClarification.pendingId, asked);
  await stage.skip(asked);
  assert.equal((await stage.hear(session)).items[0].session.activeClarification, null);
});

probe('B8', 'a reloaded page sees the question, and its next message is taken', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  assert.equal((await stage.view(session)).activeClarification.pendingId, asked);
  assert.equal((await stage.prompt(session, 'Go on')).__typename, 'PromptAccepted');
  assert.equal((await stage.view(session)).activeClarification, null);
});

probe('B9', 'after a restart every answer is taken or refused by type, in each state', async (stage) => {
  const make = async (act) => {
    const session = await stage.session();
    const asked = await stage.ask(session);
    await act?.(session, asked);
    return asked;
  };
  const active = await make();
  const skipped = await make((_, asked) => stage.skip(asked));
  const older = await make((session) => stage.turn(session));
  const over = await make((session) => stage.setState(session, 'FAILED'));
  await stage.restart();
  const told = [];
  for (const asked of [active, skipped, older, over]) {
    const { __typename, reason } = await stage.respond(asked);
    told.push(reason ?? __typename);
  }
  assert.deepEqual(told, ['ResponseAccepted', 'TERMINAL', 'SUPERSEDED', 'SESSION_ENDED']);
});

probe('B11', 'a fresh list shows the one of many tasks that asks', async (stage) => {
  const task = await stage.task('The one');
  for (let other = 0; other < 80; other += 1) await stage.session();
  await stage.ask(await stage.session({ task }));
  const shown = (await stage.tasks()).filter((row) => row.pendingAction);
  assert.deepEqual(shown.map((row) => [row.id, row.pendingAction]), [[task, 'CLARIFICATION']]);
});

probe('B12', 'restarts leave an open turn what it was, and it can be completed', async (stage) => {
  const session = await stage.session();
  const before = await stage.view(session);
  await stage.restart();
  await stage.restart();
  const after = await stage.view(session);
  assert.deepEqual(after.turns, before.turns);
  assert.equal((await stage.complete(session, after.currentTurn.id)).__typename, 'CompleteTurnPayload');
});

probe('B13', 'the end of the turn that asked leaves its question answerable', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  await stage.live(asked);
  const { currentTurn } = await stage.view(session);
  await stage.complete(session, currentTurn.id);
  const bundle = await stage.bundle(asked);
  assert.deepEqual([bundle.state, bundle.agentDisconnected], ['ACTIVE_DETACHED', true]);
  assert.equal((await stage.inbox()).length, 1);
});

probe('C1', 'a wait that runs out is said to be that, and the answer is taken long after', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  assert.equal((await stage.wait(asked, 1)).status, 'PENDING');
  await until('detached', async () => (await stage.bundle(asked)).state === 'ACTIVE_DETACHED');
  await pause(1_500);
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
  assert.equal(stage.agent.prompts.length, 1);
});

probe('C2', 'a lost agent changes nothing of what is asked, so that a draft can be kept', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session, [CHOICE, TEXT]);
  await stage.live(asked);
  const before = await stage.bundle(asked);
  await stage.detach(session);
  const after = await stage.bundle(asked);
  assert.deepEqual(after, { ...before, state: 'ACTIVE_DETACHED', agentDisconnected: true });
});

probe('C3', 'an agent can tell six ends apart', { flags: ['--respond-wait-ms', '2000'] }, async (stage) => {
  const told = {};
  const end = async (name, act, question = CHOICE) => {
    const session = await stage.session({ executor: null });
    const asked = await stage.ask(session, [question]);
    const { outcome } = await stage.live(asked, name === 'timeout' ? 1 : 30);
    await act(session, asked);
    told[name] = (await outcome).status;
  };
  await end('answer', (_, asked) => stage.respond(asked));
  await end('skip', (_, asked) => stage.skip(asked));
  await end('timeout', () => {});
  await end('cancel', (_, asked) => stage.cancel(asked));
  await end('end', (session) => stage.setState(session, 'COMPLETED'));
  await end('newer turn', (session) => stage.turn(session));
  assert.deepEqual(told, { answer: 'ANSWERED', skip: 'REJECTED', timeout: 'PENDING', cancel: 'CANCELLED', end: 'EXPIRED', 'newer turn': 'SUPERSEDED' });
});

probe('C4', 'nobody is said to have declined but by a skip', async (stage) => {
  const ends = { cancel: [], end: [], turn: [] };
  for (const end of Object.keys(ends)) {
    const session = await stage.session();
    const asked = await stage.ask(session);
    if (end === 'cancel') {
      await stage.live(asked);
      await stage.cancel(asked);
    } else if (end === 'end') await stage.setState(session, 'CANCELLED');
    else await stage.turn(session);
    ends[end] = [(await stage.bundle(asked)).outcome, (await stage.bundle(asked)).questions[0].status];
  }
  assert.deepEqual(ends, { cancel: ['CANCELLED', 'CANCELLED'], end: ['EXPIRED', 'EXPIRED'], turn: ['SUPERSEDED', 'PENDING'] });
});

probe('C5', 'no second clock expires a question', { flags: ['--soft-deadline-ms', '500', '--silent-deadline-ms', '500', '--reattach-grace-ms', '500', '--event-retention-ms', '60000', '--watchdog-ms', '500'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  await stage.stop('SIGKILL');
  stage.sql('UPDATE task_session_messages SET created_us = created_us - 86400000000, updated_us = updated_us - 86400000000 WHERE pending_id = ?', asked);
  await stage.up();
  await pause(2_000);
  assert.equal((await stage.bundle(asked)).state, 'ACTIVE_DETACHED');
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
});

probe('C6', 'an agent whose call is cut ten times waits on the same question, and gets the answer once', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session, [CHOICE], { clientKey: 'fence' });
  for (let call = 0; call < 10; call += 1) {
    const again = await stage.askWhole(session, [CHOICE], { clientKey: 'fence' });
    assert.deepEqual([again.pendingId, again.isNew], [asked, false]);
    await cutWait(stage, asked);
  }
  const { outcome } = await stage.live(asked);
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
  assert.deepEqual((await outcome).answers[0].selected, ['White']);
  assert.equal(stage.agent.prompts.length, 0);
});

/** A wait whose client hangs up while it waits. */
async function cutWait(stage, pendingId) {
  const cut = new AbortController();
  const query = 'mutation($p: ID!) { awaitClarification(pendingId: $p, waitSeconds: 30) { __typename } }';
  const call = stage.post(query, { p: pendingId }, cut);
  await until('it waits', async () => (await stage.bundle(pendingId)).state === 'ACTIVE_LIVE');
  cut.abort();
  await assert.rejects(call);
  await until('it is let go', async () => (await stage.bundle(pendingId)).state === 'ACTIVE_DETACHED');
}

probe('C8', 'an answer at the very end of a wait reaches the waiter or begins a turn, and is never lost', async (stage) => {
  const runs = 60;
  const race = async (run) => {
    const session = await stage.session();
    const asked = await stage.ask(session);
    const begun = Date.now();
    const { outcome } = await stage.live(asked, 1);
    await pause(1_000 + (run - runs / 3) * 12 - (Date.now() - begun)); // from 240 ms before to 470 ms behind
    assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
    const sent = stage.agent.prompts.filter(({ data }) => data.pendingId === asked).length;
    assert.deepEqual([(await outcome).status, sent], sent ? ['PENDING', 1] : ['ANSWERED', 0]);
    assert.equal((await stage.bundle(asked)).outcome, 'ANSWERED');
    return sent;
  };
  const sent = [];
  for (let run = 0; run < runs; run += 10) sent.push(...(await Promise.all(Array.from({ length: 10 }, (_, each) => race(run + each)))));
  assert.ok(sent.includes(0) && sent.includes(1), 'the race was run on one side only');
});

probe('C11', 'the connection that asked may go: the answer goes by the id', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  await cutWait(stage, asked);
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
  assert.equal(stage.agent.prompts.length, 1);
});
