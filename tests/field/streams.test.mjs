// Sections I, J and W of the table: gaps in streams, replay, sockets. Other suites in tests/live hold the rest.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

import WebSocket from '../live/node_modules/ws/wrapper.mjs';
import { follow } from '../live/follow.mjs';
import { BINARY } from '../process.mjs';
import { WHITE, memory, pause, probe, revisionOf, until } from './stage.mjs';

const TASKS = 'subscription { taskChanges { __typename cursor ... on TaskSnapshot { tasks { id pendingAction } } ... on TaskChanged { task { id pendingAction } } } }';

/** An open socket that has introduced itself. */
async function socketOf(stage, options) {
  const socket = new WebSocket(`ws://${stage.address}/graphql/ws`, 'graphql-transport-ws', { perMessageDeflate: false, ...options });
  const heard = [];
  socket.on('message', (data) => heard.push(JSON.parse(data)));
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send('{"type":"connection_init"}');
  await until('the acknowledgement', () => heard.some((message) => message.type === 'connection_ack'));
  return { socket, heard };
}

probe('I5', 'who subscribes in the middle of changes ends with the truth', async (stage) => {
  const session = await stage.session();
  let isDone = false;
  const changing = (async () => {
    for (let change = 0; change < 60; change += 1) await stage.skip(await stage.ask(session));
    await stage.ask(session);
    isDone = true;
  })();
  const heard = [];
  while (!isDone) heard.push(await stage.hear(session));
  await changing;
  const truth = revisionOf((await stage.view(session)).projection);
  assert.ok(heard.length > 5);
  for (const { items } of heard) await until(`the truth ${truth} in ${JSON.stringify(items.slice(-4))} of ${items.length}`, () => items.some((item) => item.projection && revisionOf(item.projection) === truth && item.projection.action === 'CLARIFICATION'));
});

probe('I6', 'a follower that comes back by its cursor misses nothing', async (stage) => {
  const session = await stage.session();
  const first = await stage.hear(session);
  const { cursor } = first.items[0];
  first.socket.terminate();
  const asked = await stage.ask(session);
  await stage.skip(asked);
  const second = await stage.hear(session, cursor);
  await until('all of it', () => second.items.some((item) => item.message?.clarification?.outcome === 'REJECTED'));
  assert.ok(second.items.every((item) => item.cursor !== cursor && item.__typename !== 'Gap'));
});

probe('J1', 'killed at any moment of a skip, what is stored is told, and told once', async (stage) => {
  for (let run = 0; run < 10; run += 1) {
    const session = await stage.session();
    const heard = await stage.hear(session);
    const { cursor } = heard.items[0];
    const asked = await stage.ask(session);
    const skipped = stage.skip(asked).catch(() => null);
    await pause(run);
    await stage.restart();
    await skipped;
    const isOver = (await stage.bundle(asked)).state === 'TERMINAL';
    const after = await stage.hear(session, cursor);
    await until('the question', () => after.items.some((item) => item.message?.clarification?.pendingId === asked));
    if (isOver) await until('its end', () => after.items.some((item) => item.message?.clarification?.outcome === 'REJECTED'));
    await pause(50);
    const cursors = after.items.map((item) => item.cursor);
    assert.equal(new Set(cursors).size, cursors.length);
    after.socket.terminate();
  }
});

probe('J2', 'a start that nobody heard can still be heard later', async (stage) => {
  const session = await stage.session();
  const { items, socket } = await stage.hear(session);
  socket.terminate();
  await stage.respond(await stage.ask(session));
  await stage.restart();
  const turn = (await stage.view(session)).currentTurn.id;
  const later = await stage.hear(session, items[0].cursor);
  await until('the start', () => later.items.some((item) => item.__typename === 'TurnStarted' && item.turn.id === turn));
});

probe('J5', 'what recovery cannot read refuses the start by name, changes nothing, and is mended by hand', { script: ['hang'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  stage.respond(asked).catch(() => {});
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  await stage.stop('SIGKILL');
  const key = '$.prompt_dispatch_clarification_message_ids';
  const [[turn, whole]] = stage.sql('SELECT id, metadata FROM task_session_turns WHERE is_reserved');
  for (const value of ['', 7, null]) {
    stage.sql('UPDATE task_session_turns SET metadata = json_set(metadata, ?, ?) WHERE id = ?', key, value, turn);
    const before = stage.sql('SELECT metadata FROM task_session_turns UNION ALL SELECT metadata FROM task_session_messages');
    const start = spawnSync(BINARY, ['serve', '--listen', '127.0.0.1:0', '--database', `sqlite:${stage.database}`], { encoding: 'utf8', timeout: 20_000 });
    assert.equal(start.status, 3, start.stderr);
    assert.ok(start.stderr.includes(turn), start.stderr);
    assert.deepEqual(stage.sql('SELECT metadata FROM task_session_turns UNION ALL SELECT metadata FROM task_session_messages'), before);
  }
  stage.sql('UPDATE task_session_turns SET metadata = ? WHERE id = ?', whole, turn);
  await stage.up();
  assert.equal((await stage.bundle(asked)).dispatchOutcome, 'UNKNOWN');
});

probe('L8', 'an answer over a socket goes on when its operation is completed, and when the socket is lost', { script: ['hang', 'hang'] }, async (stage) => {
  const query = 'mutation($input: RespondInput!) { respond(input: $input) { __typename } }';
  for (const isCut of [false, true]) {
    const asked = await stage.ask(await stage.session());
    const prompts = stage.agent.prompts.length;
    const { socket, heard } = await socketOf(stage);
    const variables = { input: { pendingId: asked, clientKey: `answer ${asked}`, answers: WHITE } };
    socket.send(JSON.stringify({ type: 'subscribe', id: 'a', payload: { query, variables } }));
    await until('the agent has it', () => stage.agent.prompts.length === prompts + 1);
    if (isCut) socket.terminate();
    else socket.send('{"type":"complete","id":"a"}');
    stage.agent.release();
    await until('it is final', async () => (await stage.bundle(asked)).dispatchOutcome === 'ACCEPTED');
    assert.equal((await stage.respond(asked)).replayed, true);
    if (isCut) continue;
    socket.send('{"type":"ping"}');
    await until('the socket lives', () => heard.some((message) => message.type === 'pong'));
    socket.terminate();
  }
});

probe('W1', 'sixty-four operations in one write are all answered', async (stage) => {
  const { socket, heard } = await socketOf(stage);
  socket.pause();
  socket._socket.cork();
  for (let id = 0; id < 64; id += 1) socket.send(JSON.stringify({ type: 'subscribe', id: String(id), payload: { query: '{ viewer { role } }' } }));
  socket._socket.uncork();
  await pause(1_000);
  socket.resume();
  await until('all', () => heard.filter((message) => message.type === 'next').length === 64 && heard.filter((message) => message.type === 'complete').length === 64);
});

probe('W2', 'a peer that answers no ping is let go, and one that does stays', { flags: ['--ws-ping-ms', '200'] }, async (stage) => {
  const alive = await socketOf(stage);
  const dead = await socketOf(stage, { autoPong: false });
  await until('it is let go', () => dead.socket.readyState === WebSocket.CLOSED);
  await pause(1_000);
  alive.socket.send('{"type":"ping"}');
  await until('the other one lives', () => alive.heard.some((message) => message.type === 'pong'));
});

probe('W4', 'sockets that break off leave nothing behind', async (stage) => {
  await stage.session();
  const round = async () => {
    const { socket, started } = follow(stage.address, TASKS);
    await started;
    socket._socket.resetAndDestroy();
  };
  for (let run = 0; run < 40; run += 1) await round();
  const before = memory(stage.pid);
  for (let run = 0; run < 60; run += 1) await Promise.all(Array.from({ length: 10 }, round));
  await pause(500);
  assert.ok(memory(stage.pid) - before < 16, `${memory(stage.pid) - before} MiB`);
  const files = spawnSync('sh', ['-c', `ls -l /proc/${stage.pid}/fd | grep -c socket`], { encoding: 'utf8' });
  assert.ok(Number(files.stdout) < 20, files.stdout);
});

probe('W6', 'two subscriptions share a socket, and an id that is taken closes it', async (stage) => {
  const { socket, heard } = await socketOf(stage);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const id of ['1', '2']) socket.send(JSON.stringify({ type: 'subscribe', id, payload: { query: TASKS } }));
  await until('both', () => ['1', '2'].every((id) => heard.some((message) => message.type === 'next' && message.id === id)));
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query: TASKS } }));
  assert.equal(await closed, 4409);
});

probe('W10', 'a server that is asked to stop lets an answer end and tells its sockets', { script: ['hang'] }, async (stage) => {
  const asked = await stage.ask(await stage.session());
  const sockets = await Promise.all(Array.from({ length: 50 }, async () => {
    const following = follow(stage.address, TASKS);
    await following.started;
    return following;
  }));
  const answered = stage.respond(asked);
  await until('the agent has it', () => stage.agent.prompts.length === 1);
  const stopped = stage.stop('SIGTERM');
  stage.agent.release();
  assert.equal((await answered).__typename, 'ResponseAccepted');
  assert.deepEqual(new Set(await Promise.all(sockets.map((each) => each.closed))), new Set([1001]));
  assert.equal(await stopped, 0);
  await stage.up();
  assert.equal((await stage.bundle(asked)).dispatchOutcome, 'ACCEPTED');
});

probe('W13', 'a crowd that comes back at once after kill -9 is served, and answers meanwhile', async (stage) => {
  const asked = await stage.ask(await stage.session());
  let isUp = false;
  const served = Array.from({ length: 300 }, async () => {
    for (;;) {
      const following = follow(stage.address, TASKS);
      const first = await Promise.race([following.started, following.closed]);
      if (typeof first === 'object' && isUp) return first;
      if (typeof first === 'object') await following.closed;
      await pause(20);
    }
  });
  await pause(500);
  await stage.stop('SIGKILL');
  isUp = true;
  await stage.up();
  assert.equal((await stage.respond(asked)).__typename, 'ResponseAccepted');
  const items = await Promise.all(served);
  assert.ok(items.every(({ data }) => data.taskChanges.__typename === 'TaskSnapshot'));
});
