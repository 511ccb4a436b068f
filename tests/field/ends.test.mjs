// Sections F to H of the table: ends that everyone hears of, rows that tell the truth, the order of what is told.
import assert from 'node:assert/strict';

import { CHOICE, TEXT, WHITE, memory, probe, revisionOf, until } from './stage.mjs';

const rising = (items) => {
  const told = items.filter((item) => item.projection).map((item) => revisionOf(item.projection));
  return told.every((revision, at) => at === 0 || revision >= told[at - 1]);
};

probe('F1', 'a session that ends takes its open questions with it, however it ends', async (stage) => {
  for (const state of ['COMPLETED', 'FAILED', 'CANCELLED']) {
    const session = await stage.session();
    const heard = await stage.hear(session);
    const asked = [await stage.ask(session, [CHOICE]), await stage.ask(session, [TEXT]), await stage.ask(session, [CHOICE, TEXT])];
    await stage.setState(session, state);
    for (const each of asked) assert.equal((await stage.bundle(each)).outcome, 'EXPIRED');
    await until('the end is told', () => heard.items.some((item) => item.__typename === 'SessionStateChanged' && item.projection.action === null));
    assert.equal(heard.items.at(-1).projection.action, null);
  }
  assert.deepEqual(await stage.inbox(), []);
});

probe('F3', 'a session that is deleted frees its waiter and leaves no rows', async (stage) => {
  const session = await stage.session();
  const { outcome } = await stage.live(await stage.ask(session));
  await stage.delete(session);
  assert.equal((await outcome).__typename, 'NotFound');
  const left = ['task_session_messages', 'task_session_turns', 'clarification_waiters', 'client_keys'].map((table) => stage.sql(`SELECT count(*) FROM ${table}`)[0][0]);
  assert.deepEqual(left, [0, 0, 0, 0]);
  assert.equal((await stage.tasks())[0].pendingAction, null);
});

probe('F5', 'waits that are cancelled leave nothing behind', async (stage) => {
  const round = async () => {
    const session = await stage.session();
    const asked = await stage.ask(session);
    const { outcome } = await stage.live(asked);
    await stage.cancel(asked);
    assert.equal((await outcome).status, 'CANCELLED');
  };
  for (let run = 0; run < 20; run += 1) await round();
  const before = memory(stage.pid);
  for (let run = 0; run < 10; run += 1) await Promise.all(Array.from({ length: 10 }, round));
  assert.equal(stage.sql('SELECT count(*) FROM clarification_waiters')[0][0], 0);
  assert.ok(memory(stage.pid) - before < 16, `${memory(stage.pid) - before} MiB`);
});

probe('F6', 'a skip is final for everyone and after a restart', async (stage) => {
  const asked = await stage.ask(await stage.session());
  await stage.skip(asked);
  for (let start = 0; start < 2; start += 1) {
    assert.deepEqual(await stage.inbox(), []);
    assert.equal((await stage.bundle(asked)).outcome, 'REJECTED');
    await stage.restart();
  }
});

probe('F7', 'an answer given on one device is told on the other', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  const heard = [await stage.hear(session), await stage.hear(session)];
  await stage.respond(asked);
  for (const { items } of heard) {
    await until('settled', () => items.some((item) => item.message?.clarification?.outcome === 'ANSWERED'));
    assert.equal(items.at(-1).projection.action, null);
  }
});

probe('F9', 'a question that is over is over, and not unknown', async (stage) => {
  const ends = [
    (_, asked) => stage.respond(asked, WHITE, 'first'),
    (_, asked) => stage.skip(asked),
    (session) => stage.turn(session),
    (session) => stage.setState(session, 'COMPLETED'),
  ];
  const told = [];
  for (const end of ends) {
    const session = await stage.session();
    const asked = await stage.ask(session);
    await end(session, asked);
    const late = await stage.respond(asked, WHITE, 'late');
    told.push([late.__typename, late.reason, late.clarification.outcome]);
  }
  assert.deepEqual(told, [
    ['ResponseConflict', 'TERMINAL', 'ANSWERED'], ['ResponseConflict', 'TERMINAL', 'REJECTED'],
    ['ResponseConflict', 'SUPERSEDED', 'SUPERSEDED'], ['ResponseConflict', 'SESSION_ENDED', 'EXPIRED'],
  ]);
});

probe('G1', 'nothing pending is said, and never left out', async (stage) => {
  const session = await stage.session();
  const heard = await stage.hear(session);
  await stage.skip(await stage.ask(session));
  await until('the end', () => heard.items.some((item) => item.message?.clarification?.outcome === 'REJECTED'));
  const last = heard.items.at(-1);
  assert.ok('projection' in last && last.projection.action === null);
  assert.equal((await stage.view(session)).projection.action, null);
  const [row] = await stage.tasks();
  assert.deepEqual([row.pendingAction, row.primarySessionPendingAction], [null, null]);
});

probe('G2', 'a session that waits for input asks nothing by that', async (stage) => {
  const session = await stage.session();
  await stage.setState(session, 'WAITING_FOR_INPUT');
  assert.equal((await stage.view(session)).projection.action, null);
  assert.equal((await stage.tasks())[0].pendingAction, null);
});

probe('G5', 'a reservation that belongs to nobody is settled at the start, and its session goes on', async (stage) => {
  const session = await stage.session();
  const { currentTurn } = await stage.view(session);
  await stage.stop('SIGKILL');
  stage.sql(`INSERT INTO task_session_turns (id, session_id, ordinal, kind, generation, started_us, wall_us, has_evidence, metadata)
    SELECT 'orphan', session_id, ordinal + 1, kind, generation + 1, started_us + 1, wall_us, 0, '{"prompt_dispatch_pending":true}' FROM task_session_turns WHERE id = ?`, currentTurn.id);
  stage.sql('UPDATE task_sessions SET last_ordinal = last_ordinal + 1, last_started_us = last_started_us + 1 WHERE id = ?', session);
  await stage.up();
  assert.equal((await stage.view(session)).currentTurn.id, currentTurn.id);
  await stage.complete(session, currentTurn.id);
  assert.equal((await stage.prompt(session, 'Go on')).__typename, 'PromptAccepted');
});

probe('G6', 'of many that end one question at once, one does', async (stage) => {
  const session = await stage.session();
  const asked = await stage.ask(session);
  const acts = Array.from({ length: 64 }, (_, n) => [() => stage.detach(session), () => stage.respond(asked, WHITE, `answer ${n}`), () => stage.skip(asked, `skip ${n}`)][n % 3]);
  const results = await Promise.all(acts.map((act) => act()));
  assert.equal(results.filter((result) => result.__typename === 'ResponseAccepted').length, 1);
  assert.deepEqual(new Set(results.map((result) => result.__typename)), new Set(['ResponseAccepted', 'ResponseConflict', 'DetachClarificationsPayload']));
  const ends = stage.sql("SELECT count(*) FROM outbox_events WHERE json_extract(body, '$.kind') = 'MESSAGE_UPDATED'")[0][0];
  assert.ok(ends >= 1 && ends <= 3, `${ends} updates`);
});

probe('H1', 'after a restart revisions are greater, though the count begins anew', async (stage) => {
  const session = await stage.session();
  const seen = [];
  for (let start = 0; start < 3; start += 1) {
    await stage.skip(await stage.ask(session));
    seen.push(revisionOf((await stage.view(session)).projection));
    await stage.restart();
  }
  assert.deepEqual(seen, [...seen].sort((a, b) => (a < b ? -1 : 1)));
  assert.equal(new Set(seen).size, 3);
});

probe('H4', 'a query and a stream are ordered by their revisions alone', async (stage) => {
  const session = await stage.session();
  const heard = await stage.hear(session);
  const older = (await stage.view(session)).projection;
  await stage.ask(session);
  const newer = (await until('told', () => heard.items.find((item) => item.projection?.action === 'CLARIFICATION'))).projection;
  assert.ok(revisionOf(older) < revisionOf(newer));
  assert.ok(revisionOf((await stage.view(session)).projection) >= revisionOf(newer));
});

for (const epoch of ['2147483648', '9007199254740993']) {
  probe(`H5 ${epoch}`, 'a generation beyond the numbers of JavaScript is told exactly', async (stage) => {
    const session = await stage.session();
    await stage.stop('SIGKILL');
    stage.sql(`UPDATE backend_generations SET epoch = ${BigInt(epoch) - 1n} WHERE epoch = (SELECT max(epoch) FROM backend_generations)`);
    await stage.up();
    await stage.ask(session);
    assert.equal((await stage.view(session)).projection.revision.epoch, epoch);
  });
}

probe('H9', 'a hundred changes reach twenty followers in order', async (stage) => {
  const session = await stage.session();
  const heard = await Promise.all(Array.from({ length: 20 }, () => stage.hear(session)));
  for (let change = 0; change < 50; change += 1) await stage.skip(await stage.ask(session));
  const last = revisionOf((await stage.view(session)).projection);
  for (const { items } of heard) {
    await until('the last', () => items.some((item) => item.projection && revisionOf(item.projection) === last));
    assert.ok(rising(items));
  }
});
