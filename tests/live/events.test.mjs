// GraphQL over server-sent events: distinct connections, resumed by the id of the last event.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Process } from '../process.mjs';

const server = new Process({ ANSWERABLE_PROFILE: 'development', ANSWERABLE_SSE_HEARTBEAT_MS: '100', ANSWERABLE_CONNECTIONS_EACH_MAX: '3' });
before(() => server.start());
after(() => server.stop('SIGTERM'));

const FOLLOW = 'subscription { taskChanges { __typename cursor ... on TaskChanged { task { title } } } }';

/** One stream: its response, and its events and comments as they come. */
class Stream {
  #reader;
  #decoder = new TextDecoder();
  #text = '';

  static async open(query, headers = {}, { method = 'POST', variables } = {}) {
    const url = `http://${server.address}/graphql`;
    const all = { accept: 'text/event-stream', ...headers };
    const aborting = new AbortController();
    const { signal } = aborting;
    const response =
      method === 'GET'
        ? await fetch(`${url}?${new URLSearchParams({ query })}`, { headers: all, signal })
        : await fetch(url, { method, headers: { 'content-type': 'application/json', ...all }, body: JSON.stringify({ query, variables }), signal });
    return new Stream(response, aborting);
  }

  constructor(response, aborting) {
    Object.assign(this, { response, aborting });
    this.#reader = response.body.getReader();
  }

  /** The fields of the next event; of a comment, only that. */
  async next() {
    while (!this.#text.includes('\n\n')) {
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
    const [event, ...rest] = this.#text.split('\n\n');
    this.#text = rest.join('\n\n');
    return Object.fromEntries(event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
  }

  /** The next event that is no comment; its data read. */
  async event() {
    for (;;) {
      const event = await this.next();
      if (!event || event.event) return event && { ...event, data: event.data && JSON.parse(event.data) };
    }
  }

  close() {
    this.aborting.abort();
  }
}

async function createTask(title) {
  await server.graphql('mutation ($title: String!) { createTask(input: { title: $title }) { __typename } }', { title });
}

test('a subscription begins with a snapshot, and every event carries its cursor as id', async () => {
  for (const method of ['POST', 'GET']) {
    const stream = await Stream.open(FOLLOW, {}, { method });
    assert.equal(stream.response.status, 200);
    assert.match(stream.response.headers.get('content-type'), /^text\/event-stream/);
    assert.equal(stream.response.headers.get('x-accel-buffering'), 'no');
    const first = await stream.event();
    assert.equal(first.event, 'next');
    assert.equal(first.data.data.taskChanges.__typename, 'TaskSnapshot');
    await createTask(method);
    const second = await stream.event();
    assert.equal(second.data.data.taskChanges.task.title, method);
    assert.equal(second.id, second.data.data.taskChanges.cursor);
    stream.close();
  }
});

test('the id of the last event is where a new stream goes on', async () => {
  const first = await Stream.open(FOLLOW);
  const { id } = await first.event();
  first.close();
  await createTask('while away');
  const second = await Stream.open(FOLLOW, { 'last-event-id': id });
  assert.equal((await second.event()).data.data.taskChanges.task.title, 'while away');
  await createTask('and later');
  assert.equal((await second.event()).data.data.taskChanges.task.title, 'and later');
  second.close();
});

test('an id that means nothing here is a gap, which is no place to go on from, and a snapshot', async () => {
  const stream = await Stream.open(FOLLOW, { 'last-event-id': 'nonsense' });
  const gap = await stream.event();
  assert.equal(gap.data.data.taskChanges.__typename, 'Gap');
  assert.equal(gap.id, undefined);
  assert.equal((await stream.event()).data.data.taskChanges.__typename, 'TaskSnapshot');
  stream.close();
});

test('a subscription that has nothing to say yet opens at once', async () => {
  const stream = await Stream.open('subscription { dispatchAvailable(executor: "nobody") { __typename } }');
  assert.match(stream.response.headers.get('content-type'), /json|event-stream/);
  stream.close();
});

test('comments keep a quiet stream alive', async () => {
  const stream = await Stream.open(FOLLOW);
  await stream.event();
  for (let n = 0; n < 2; n += 1) assert.equal((await stream.next()).event, undefined);
  stream.close();
});

test('a query and a mutation are one next and a complete', async () => {
  for (const query of ['{ __typename }', 'mutation { createTask(input: { title: "x" }) { __typename } }']) {
    const stream = await Stream.open(query);
    assert.ok((await stream.event()).data.data);
    assert.equal((await stream.event()).event, 'complete');
    while (await stream.next()); // to its end
  }
});

test('what cannot be followed is refused before a stream opens', async () => {
  const bad = [
    ['subscription {', 'GRAPHQL_PARSE_FAILED'],
    ['subscription { nothingOfTheKind }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { sessionChanges(sessionId: "nobody") { cursor } }', 'NOT_FOUND'],
  ];
  for (const [query, code] of bad) {
    const { response } = await Stream.open(query);
    assert.equal(response.status, 400);
    assert.match(response.headers.get('content-type'), /^application\/json/);
  }
  const { response } = await Stream.open('mutation { __typename }', {}, { method: 'GET' });
  assert.equal(response.status, 405);
});

test('one caller has so many streams and no more, and leaves its places when it goes', async () => {
  const open = [];
  for (let n = 0; n < 3; n += 1) {
    const stream = await Stream.open(FOLLOW);
    assert.equal(stream.response.status, 200);
    await stream.event();
    open.push(stream);
  }
  const refused = await Stream.open(FOLLOW);
  assert.equal(refused.response.status, 503);
  open.forEach((stream) => stream.close());
  let status;
  for (let n = 0; n < 100 && status !== 200; n += 1) {
    const stream = await Stream.open(FOLLOW);
    ({ status } = stream.response);
    stream.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(status, 200);
});
