// Resume under fire: server and sockets are killed at random under writes, and every follower still hears what the
// log has: nothing missed, nothing twice, in order, revisions never going back. KILLS says how many kills, SEED which.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

import { Process } from '../process.mjs';
import { follow } from './follow.mjs';

const KILLS = Number(process.env.KILLS ?? 20);
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);
const TASKS = 'subscription ($after: Cursor) { taskChanges(after: $after) { __typename cursor ... on TaskChanged { task { id } } ... on TaskDeleted { taskId } } }';
const SESSION = `subscription ($after: Cursor, $id: ID!) { sessionChanges(sessionId: $id, after: $after) { __typename cursor
  ... on SessionSnapshot { projection { revision { epoch sequence } } }
  ... on MessageAdded { message { id } projection { revision { epoch sequence } } }
  ... on MessageUpdated { message { id } projection { revision { epoch sequence } } }
  ... on TurnStarted { turn { id } projection { revision { epoch sequence } } }
  ... on TurnCompleted { turn { id } projection { revision { epoch sequence } } }
  ... on SessionStateChanged { projection { revision { epoch sequence } } }
  ... on ProjectionChanged { projection { revision { epoch sequence } } } } }`;

/** Small numbers that are the same for the same seed. */
function randoms(seed) {
  let state = seed + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const positionOf = (cursor) => Number(Buffer.from(cursor, 'base64').toString().split(':')[0]);

/** Follows for ever, behind its last cursor whenever its socket is lost. */
class Follower {
  items = [];
  #stopped = false;
  #socket;

  constructor(server, query, field, variables = {}) {
    Object.assign(this, { server, query, field, variables });
    this.#follow();
  }

  get last() {
    return this.items.length ? positionOf(this.items.at(-1).cursor) : 0;
  }

  #follow() {
    const variables = { ...this.variables, after: this.items.at(-1)?.cursor ?? null };
    const { socket, closed } = follow(this.server.address, this.query, {
      variables,
      hear: ({ data, errors }) => (errors ? socket.terminate() : this.items.push(data[this.field])),
    });
    this.#socket = socket;
    closed.then(() => !this.#stopped && setTimeout(() => this.#follow(), 20));
  }

  kill() {
    this.#socket.terminate();
  }

  stop() {
    this.#stopped = true;
    this.#socket.terminate();
  }
}

/** What an event is about, where the newest telling of it is enough; else none. */
function subjectOf(event, isTasks) {
  if (event.kind === 'TASK_DELETED') return null;
  if (isTasks) return `task ${event.task}`;
  if (event.kind === 'MESSAGE_UPDATED') return `message ${event.message_id}`;
  return ['SESSION_STATE_CHANGED', 'PROJECTION_CHANGED'].includes(event.kind) ? event.kind : null;
}

function logOf(database) {
  const script = 'import json,sqlite3,sys\nfor r in sqlite3.connect(sys.argv[1]).execute("SELECT position, task_id, session_id, body FROM outbox_events ORDER BY position"): print(json.dumps(r))';
  const rows = execFileSync('python3', ['-c', script, database], { maxBuffer: 1 << 28 }).toString().trim().split('\n');
  return rows.map((row) => {
    const [position, task, session, body] = JSON.parse(row);
    return { position, task, session, ...JSON.parse(body) };
  });
}

function check(follower, events, isTasks, gone) {
  const { items } = follower;
  assert.match(items[0].__typename, /Snapshot$/);
  assert.ok(items.slice(1).every((item) => !/Snapshot|Gap/.test(item.__typename)), 'what a follower came back to was always there');
  const positions = items.map((item) => positionOf(item.cursor));
  positions.slice(1).forEach((position, index) => assert.ok(position > positions[index], `order: ${positions[index]} before ${position}`));
  const told = new Set(positions);
  const later = new Set();
  for (const event of events.filter(({ position }) => position > positions[0]).reverse()) {
    const subject = subjectOf(event, isTasks);
    const isTold = told.has(event.position) || (subject && later.has(subject)) || gone.has(event.task);
    assert.ok(isTold, `${JSON.stringify(event)} was told`);
    if (subject && told.has(event.position)) later.add(subject);
    told.delete(event.position);
  }
  told.delete(positions[0]);
  assert.deepEqual([...told], [], 'what was told is in the log');
  const revisions = items.map((item) => item.projection?.revision).filter(Boolean);
  revisions.slice(1).forEach((now, index) => {
    const [a, b] = [revisions[index], now].map(({ epoch, sequence }) => BigInt(epoch) * 1_000_000_000_000n + BigInt(sequence));
    assert.ok(a <= b, `revision ${JSON.stringify(revisions[index])} before ${JSON.stringify(now)}`);
  });
}

test(`${KILLS} kills, seed ${SEED}`, { timeout: 900_000 }, async () => {
  const random = randoms(SEED);
  // A feed that keeps next to nothing, so that followers fall behind it too.
  const server = await new Process({ RUST_LOG: 'error', ANSWERABLE_FEED_MAX: '2' }).start();
  const { createTask } = await server.graphql('mutation { createTask(input: { title: "fire" }) { ... on TaskPayload { taskId } } }');
  const sessions = [];
  for (let n = 0; n < 2; n += 1) {
    const made = await server.graphql('mutation ($id: ID!) { createSession(input: { taskId: $id }) { ... on SessionPayload { sessionId } } }', { id: createTask.taskId });
    sessions.push(made.createSession.sessionId);
  }
  const followers = [0, 1, 2].map(() => ({ isTasks: true, follower: new Follower(server, TASKS, 'taskChanges') }));
  for (const id of [...sessions, ...sessions]) {
    followers.push({ session: id, follower: new Follower(server, SESSION, 'sessionChanges', { id }) });
  }
  while (followers.some(({ follower }) => !follower.items.length)) await pause(10);

  const gone = new Set();
  let isOver = false;
  let count = 0;
  const writes = [
    () => server.graphql('mutation ($title: String!) { createTask(input: { title: $title }) { __typename } }', { title: `task ${count}` }),
    () => server.graphql('mutation ($id: ID!, $title: String) { updateTask(input: { taskId: $id, title: $title }) { __typename } }', { id: createTask.taskId, title: `fire ${count}` }),
    (id) => server.graphql('mutation ($id: ID!) { startTurn(input: { sessionId: $id }) { __typename } }', { id }),
    (id) => server.graphql('mutation ($id: ID!, $key: String!) { askClarification(input: { sessionId: $id, questions: [{ prompt: "Which?" }], clientKey: $key }) { __typename } }', { id, key: `key ${count}` }),
    (id) => server.graphql('mutation ($id: ID!, $content: String!) { appendMessage(input: { sessionId: $id, kind: "message", content: $content }) { __typename } }', { id, content: `text ${count}` }),
    async () => {
      const made = await server.graphql('mutation { createTask(input: { title: "short" }) { ... on TaskPayload { taskId } } }');
      gone.add(made.createTask.taskId);
      await server.graphql('mutation ($id: ID!) { deleteTask(taskId: $id) { __typename } }', { id: made.createTask.taskId });
    },
  ];
  const refused = new Set();
  const writer = async () => {
    while (!isOver) {
      count += 1;
      // A server that is killed refuses; what came of the write is in the log.
      await writes[random(writes.length)](sessions[random(2)]).catch((error) => refused.add(String(error.cause?.code ?? error.message).slice(0, 200)));
      await pause(random(5));
    }
  };
  const writers = [writer(), writer()];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(20 + random(150));
    if (random(3) === 0) {
      await server.stop('SIGKILL');
      await server.start();
    } else {
      followers[random(followers.length)].follower.kill();
    }
  }
  isOver = true;
  await Promise.all(writers);
  const wrong = [...refused].filter((text) => /VALIDATION|BAD_/.test(text));
  assert.deepEqual(wrong, [], 'the writes are meant well');

  // One last change that everybody hears.
  for (const id of sessions) await server.graphql('mutation ($id: ID!) { setSessionState(sessionId: $id, state: FAILED) { __typename } }', { id });
  const isAbout = ({ isTasks, session }) => (event) => isTasks
    ? ['TASK_CHANGED', 'TASK_DELETED', 'SESSION_STATE_CHANGED', 'SESSION_DELETED', 'PROJECTION_CHANGED'].includes(event.kind)
    : event.session === session;
  const log = logOf(server.database);
  for (const one of followers) {
    const events = log.filter(isAbout(one));
    const until = Date.now() + 30_000;
    while (one.follower.last < events.at(-1).position && Date.now() < until) await pause(10);
    one.follower.stop();
    check(one.follower, events, Boolean(one.isTasks), gone);
  }
  console.log(`kills=${KILLS} writes=${count} events=${log.length} told=${followers.reduce((sum, { follower }) => sum + follower.items.length, 0)} violations=0`);
  await server.stop('SIGKILL');
});
