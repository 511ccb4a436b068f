// GraphQL over WebSocket: every rule of graphql-transport-ws, and the limits beyond it, through a raw socket.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import WebSocket from 'ws';

import { Process } from '../process.mjs';
import { follow } from './follow.mjs';

const PROTOCOL = 'graphql-transport-ws';
const TASKS = 'subscription { taskChanges { __typename cursor } }';

const server = new Process({ ANSWERABLE_WS_INIT_TIMEOUT_MS: '400', ANSWERABLE_WS_OPERATIONS_MAX: '10' });
before(() => server.start());
after(() => server.stop('SIGTERM'));

/** A raw socket that keeps what it heard. */
class Peer {
  #heard = [];
  #waiting = [];

  constructor({ process = server, ...options } = {}, protocols = PROTOCOL) {
    this.socket = new WebSocket(`ws://${process.address}/graphql/ws`, protocols, options);
    this.opened = new Promise((resolve, reject) => {
      this.socket.once('open', resolve);
      this.socket.once('error', reject);
    });
    this.closed = new Promise((resolve) => this.socket.once('close', (code) => resolve(code)));
    this.socket.on('message', (data) => {
      const message = JSON.parse(data);
      const waiting = this.#waiting.shift();
      if (waiting) waiting(message);
      else this.#heard.push(message);
    });
    this.socket.on('error', () => {});
  }

  static async initialised(payload, options) {
    const peer = await Peer.open(options);
    peer.say({ type: 'connection_init', payload });
    assert.deepEqual(await peer.next(), { type: 'connection_ack' });
    return peer;
  }

  static async open(options) {
    const peer = new Peer(options);
    await peer.opened;
    return peer;
  }

  say(message) {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  subscribe(id, query, more = {}) {
    this.say({ type: 'subscribe', id, payload: { query, ...more } });
  }

  /** Sends what is said in one piece, so that the server has all of it at once. */
  together(say) {
    this.socket._socket.cork();
    say();
    this.socket._socket.uncork();
  }

  next() {
    const heard = this.#heard.shift();
    return heard ? Promise.resolve(heard) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** What comes before the answer to a ping: all that was on its way. */
  async drained() {
    const mark = `mark ${Math.random()}`;
    this.say({ type: 'ping', payload: { mark } });
    const before = [];
    for (;;) {
      const message = await this.next();
      if (message.type === 'pong' && message.payload?.mark === mark) return before;
      before.push(message);
    }
  }

  async end() {
    this.socket.terminate();
    await this.closed;
  }
}

async function closesWith(code, peer) {
  assert.equal(await peer.closed, code);
}

async function createTask(title = 'Follow me') {
  const mutation = 'mutation ($title: String!) { createTask(input: { title: $title }) { ... on TaskPayload { taskId } } }';
  return (await server.graphql(mutation, { title })).createTask.taskId;
}

describe('opening', () => {
  test('only graphql-transport-ws is spoken', async () => {
    for (const protocols of [[], ['graphql-ws'], ['other']]) {
      await assert.rejects(new Peer({}, protocols).opened, /400/);
    }
    const peer = new Peer({}, ['graphql-ws', PROTOCOL]);
    await peer.opened;
    assert.equal(peer.socket.protocol, PROTOCOL);
    await peer.end();
  });

  test('a page of another origin and a foreign host are turned away', async () => {
    await assert.rejects(new Peer({ origin: 'https://evil.example' }).opened, /403/);
    await assert.rejects(new Peer({ headers: { host: 'evil.example' } }).opened, /403/);
  });

  test('a page of this server itself, by its public name too, is let in', async () => {
    const own = await new Process({ ANSWERABLE_PUBLIC_HOST: 'answers.example.org' }).start();
    const pages = [{ origin: `http://${own.address}` }, { origin: 'https://answers.example.org', headers: { host: 'answers.example.org' } }];
    for (const page of pages) await (await Peer.initialised(undefined, { process: own, ...page })).end();
    await own.stop('SIGTERM');
  });

  test('sockets of one caller beyond the limit are closed with 1013, those beyond all limits get no socket', async () => {
    const own = await new Process({ ANSWERABLE_CONNECTIONS_EACH_MAX: '2', ANSWERABLE_CONNECTIONS_MAX: '3' }).start();
    const process = { process: own };
    const open = [await Peer.initialised(undefined, process), await Peer.initialised(undefined, process)];
    const third = await Peer.open(process);
    await assert.rejects(new Peer(process).opened, /503/);
    third.say({ type: 'connection_init' });
    await closesWith(1013, third);
    await Promise.all(open.map((peer) => peer.end()));
    await own.stop('SIGTERM');
  });

  test('a socket that does not introduce itself in time is closed with 4408', async () => {
    await closesWith(4408, await Peer.open());
  });

  test('an introduction is acknowledged, with and without a payload', async () => {
    for (const payload of [undefined, null, {}, { any: 'thing' }]) await (await Peer.initialised(payload)).end();
  });

  test('a second introduction closes with 4429, also right behind the first', async () => {
    const peer = await Peer.initialised();
    peer.say({ type: 'connection_init' });
    await closesWith(4429, peer);
    const hasty = await Peer.open();
    hasty.together(() => {
      hasty.say({ type: 'connection_init' });
      hasty.say({ type: 'connection_init' });
    });
    await closesWith(4429, hasty);
  });

  test('a subscribe before the acknowledgement closes with 4401', async () => {
    const peer = await Peer.open();
    peer.subscribe('1', '{ __typename }');
    await closesWith(4401, peer);
  });

  test('credentials that open nothing close with 4403, in the payload and in the header', async () => {
    const peer = await Peer.open();
    peer.say({ type: 'connection_init', payload: { authorization: 'Bearer nonsense' } });
    await closesWith(4403, peer);
    const other = await Peer.open({ headers: { authorization: 'Bearer nonsense' } });
    other.say({ type: 'connection_init' });
    await closesWith(4403, other);
  });

  test('the token of the payload goes before the one of the header', async () => {
    const own = await new Process().start();
    const headers = { authorization: 'Bearer nonsense' };
    const { a } = await own.graphql('mutation { a: createToken(input: { role: OPERATOR, name: "a" }) { ... on CreateTokenPayload { token } } }');
    await (await Peer.initialised({ authorization: `Bearer ${a.token}` }, { process: own, headers })).end();
    await own.stop('SIGTERM');
  });
});

describe('pings', () => {
  test('a ping is answered with its payload, before the introduction too', async () => {
    const peer = await Peer.open();
    peer.say({ type: 'ping' });
    assert.deepEqual(await peer.next(), { type: 'pong' });
    peer.say({ type: 'ping', payload: { at: 1 } });
    assert.deepEqual(await peer.next(), { type: 'pong', payload: { at: 1 } });
    peer.say({ type: 'pong', payload: { unasked: true } });
    await peer.end();
  });

  test('a flood of pings closes', async () => {
    const peer = await Peer.initialised();
    for (let n = 0; n < 50; n += 1) peer.say({ type: 'ping' });
    await closesWith(4400, peer);
  });
});

test('a socket whose client hears no pings is given up, and one that answers them stays', async () => {
  const own = await new Process({ ANSWERABLE_WS_PING_MS: '200' }).start();
  const [deaf, live] = await Promise.all([false, true].map((autoPong) => Peer.initialised(undefined, { process: own, autoPong })));
  await closesWith(1006, deaf);
  assert.equal(live.socket.readyState, WebSocket.OPEN);
  await live.end();
  await own.stop('SIGTERM');
});

describe('what is no message of the protocol closes with 4400', () => {
  const bad = {
    'no JSON': '{',
    'a list': '[]',
    'no type': '{}',
    'an unknown type': { type: 'start', id: '1', payload: { query: '{a}' } },
    'a message of servers': { type: 'next', id: '1', payload: {} },
    'an introduction with text': { type: 'connection_init', payload: 'text' },
    'a ping with a list': { type: 'ping', payload: [] },
    'a ping with text': { type: 'ping', payload: 'text' },
    'a subscribe without an id': { type: 'subscribe', payload: { query: '{a}' } },
    'a subscribe with an empty id': { type: 'subscribe', id: '', payload: { query: '{a}' } },
    'a subscribe with a number as id': { type: 'subscribe', id: 1, payload: { query: '{a}' } },
    'a subscribe without a payload': { type: 'subscribe', id: '1' },
    'a subscribe without a query': { type: 'subscribe', id: '1', payload: {} },
    'a complete without an id': { type: 'complete' },
    'a binary frame': Buffer.from('{"type":"ping"}'),
    'more bytes than allowed': { type: 'ping', payload: { text: 'x'.repeat(300_000) } },
  };
  for (const [name, message] of Object.entries(bad)) {
    test(name, async () => {
      const peer = await Peer.initialised();
      peer.say(message);
      await closesWith(4400, peer);
    });
  }

  test('text that is no UTF-8', async () => {
    const peer = await Peer.initialised();
    peer.socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
    await closesWith(4400, peer);
  });

  test('a message in pieces that has no end', async () => {
    const peer = await Peer.initialised();
    const more = () => peer.socket.readyState === WebSocket.OPEN && peer.socket.send('x'.repeat(60_000), { fin: false }, () => setTimeout(more, 5));
    more();
    await closesWith(4400, peer);
  });
});

describe('operations', () => {
  test('a query and a mutation are one next and a complete', async () => {
    const peer = await Peer.initialised();
    peer.subscribe('q', '{ __typename }');
    assert.deepEqual(await peer.next(), { type: 'next', id: 'q', payload: { data: { __typename: 'Query' } } });
    assert.deepEqual(await peer.next(), { type: 'complete', id: 'q' });
    peer.subscribe('m', 'mutation { createTask(input: { title: "By socket" }) { __typename } }');
    assert.equal((await peer.next()).payload.data.createTask.__typename, 'TaskPayload');
    assert.deepEqual(await peer.next(), { type: 'complete', id: 'm' });
    await peer.end();
  });

  test('what cannot be executed is one error and no complete, and the socket goes on', async () => {
    const peer = await Peer.initialised();
    const bad = [
      ['{', {}, 'GRAPHQL_PARSE_FAILED'],
      ['{ nothingOfTheKind }', {}, 'GRAPHQL_VALIDATION_FAILED'],
      ['query ($id: ID!) { node(id: $id) { id } }', {}, 'GRAPHQL_VALIDATION_FAILED'],
      ['{ __typename }', { operationName: 'Other' }, 'GRAPHQL_VALIDATION_FAILED'],
      ['{ __typename }', { variables: [] }, 'BAD_REQUEST'],
      ['subscription { sessionChanges(sessionId: "nobody") { cursor } }', {}, 'NOT_FOUND'],
      ['subscription { nothingOfTheKind }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ];
    for (const [query, more, code] of bad) {
      peer.subscribe('same', query, more);
      const { type, id, payload } = await peer.next();
      assert.deepEqual([type, id, payload[0].extensions.code], ['error', 'same', code], query);
    }
    assert.deepEqual(await peer.drained(), []);
    await peer.end();
  });

  test('an id that is in use closes with 4409, for every kind and back to back', async () => {
    for (const query of [TASKS, '{ tasks(first: 1) { edges { cursor } } }', 'mutation { createTask(input: { title: "x" }) { __typename } }']) {
      const peer = await Peer.initialised();
      peer.together(() => {
        peer.subscribe('1', query);
        peer.subscribe('1', query);
      });
      await closesWith(4409, peer);
    }
  });

  test('an id is free again after its operation', async () => {
    const peer = await Peer.initialised();
    for (let n = 0; n < 3; n += 1) {
      peer.subscribe('1', '{ __typename }');
      assert.deepEqual([(await peer.next()).type, (await peer.next()).type], ['next', 'complete']);
    }
    await peer.end();
  });

  test('a complete of the client ends the operation and is not answered', async () => {
    const peer = await Peer.initialised();
    peer.subscribe('1', TASKS);
    assert.equal((await peer.next()).type, 'next');
    peer.say({ type: 'complete', id: '1' });
    peer.say({ type: 'complete', id: 'never begun' });
    assert.deepEqual(await peer.drained(), []);
    await createTask();
    assert.deepEqual(await peer.drained(), []);
    await peer.end();
  });

  test('an operation that is completed while it opens says nothing, and its id is free', async () => {
    const peer = await Peer.initialised();
    peer.together(() => {
      peer.subscribe('1', TASKS);
      peer.say({ type: 'complete', id: '1' });
      peer.subscribe('1', '{ __typename }');
    });
    assert.deepEqual((await peer.next()).payload.data, { __typename: 'Query' });
    assert.deepEqual(await peer.next(), { type: 'complete', id: '1' });
    assert.deepEqual(await peer.drained(), []);
    await peer.end();
  });

  test('operations beyond the limit close', async () => {
    const peer = await Peer.initialised();
    for (let n = 0; n < 11; n += 1) peer.subscribe(`${n}`, TASKS);
    await closesWith(4400, peer);
  });

  test('a mutation goes on when its socket is gone', async () => {
    const title = `Outlives ${Math.random()}`;
    const peer = await Peer.initialised();
    peer.subscribe('1', 'mutation ($title: String!) { createTask(input: { title: $title }) { __typename } }', { variables: { title } });
    await new Promise((resolve) => setTimeout(resolve, 2)); // the frame leaves this process
    await peer.end();
    const titles = async () => (await server.graphql('{ tasks(first: 50) { edges { node { title } } } }')).tasks.edges.map(({ node }) => node.title);
    for (let n = 0; n < 100 && !(await titles()).includes(title); n += 1) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok((await titles()).includes(title));
  });
});

describe('what is followed', () => {
  test('begins with a snapshot, and every follower of the same hears each change once', async () => {
    const peers = await Promise.all(Array.from({ length: 5 }, () => Peer.initialised()));
    const query = 'subscription { taskChanges { __typename cursor ... on TaskChanged { task { id } } } }';
    for (const [index, peer] of peers.entries()) {
      peer.subscribe(`own ${index}`, query);
      assert.equal((await peer.next()).payload.data.taskChanges.__typename, 'TaskSnapshot');
    }
    const id = await createTask();
    const heard = await Promise.all(peers.map((peer) => peer.next()));
    for (const [index, message] of heard.entries()) {
      assert.equal(message.id, `own ${index}`);
      assert.deepEqual(message.payload.data.taskChanges.task, { id });
      assert.deepEqual(message.payload, heard[0].payload);
    }
    for (const peer of peers) {
      assert.deepEqual(await peer.drained(), []);
      await peer.end();
    }
  });

  test('goes on right behind its cursor: nothing twice, nothing missed', async () => {
    const query = 'subscription ($after: Cursor) { taskChanges(after: $after) { cursor ... on TaskChanged { task { id } } } }';
    const first = await Peer.initialised();
    first.subscribe('1', query);
    const { cursor } = (await first.next()).payload.data.taskChanges;
    const ids = [await createTask('a'), await createTask('b'), await createTask('c')];
    await first.end();
    const second = await Peer.initialised();
    second.subscribe('1', query, { variables: { after: cursor } });
    const heard = [await second.next(), await second.next(), await second.next()];
    assert.deepEqual(heard.map((one) => one.payload.data.taskChanges.task.id), ids);
    assert.deepEqual(await second.drained(), []);
    await second.end();
  });

  test('a cursor that means nothing here is a gap and a snapshot', async () => {
    const peer = await Peer.initialised();
    peer.subscribe('1', 'subscription { taskChanges(after: "nonsense") { __typename ... on Gap { reason } } }');
    assert.deepEqual((await peer.next()).payload.data.taskChanges, { __typename: 'Gap', reason: 'UNREADABLE' });
    assert.equal((await peer.next()).payload.data.taskChanges.__typename, 'TaskSnapshot');
    await peer.end();
  });

  test('a hot stream does not hold up the others of its socket', async () => {
    const peer = await Peer.initialised();
    peer.subscribe('hot', TASKS);
    await peer.next();
    const writes = Array.from({ length: 60 }, (_, n) => createTask(`hot ${n}`));
    peer.subscribe('query', '{ __typename }');
    const kinds = [];
    while (!kinds.includes('complete query')) {
      const message = await peer.next();
      kinds.push(`${message.type} ${message.id}`);
    }
    await Promise.all(writes);
    peer.say({ type: 'ping' });
    for (;;) if ((await peer.next()).type === 'pong') break;
    await peer.end();
  });
});

test('behind a cursor whose events are not kept any more comes a gap and a snapshot', async () => {
  const own = await new Process({ ANSWERABLE_EVENT_RETENTION_MS: '1000', ANSWERABLE_RETENTION_PERIOD_MS: '100' }).start();
  const { cursor } = await firstChange(own, null);
  const create = () => own.graphql('mutation { createTask(input: { title: "x" }) { __typename } }');
  await create();
  let change;
  for (let n = 0; n < 100 && change?.reason !== 'EXPIRED'; n += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await create(); // the newest is kept, whatever its age
    change = await firstChange(own, cursor);
  }
  assert.deepEqual([change.__typename, change.reason], ['Gap', 'EXPIRED']);
  await own.stop('SIGTERM');
});

/** The first thing that is told behind a cursor. */
async function firstChange(process, after) {
  const query = 'subscription ($after: Cursor) { taskChanges(after: $after) { __typename cursor ... on Gap { reason } } }';
  const { socket, started } = follow(process.address, query, { variables: { after } });
  const { data } = await started;
  socket.terminate();
  return data.taskChanges;
}

describe('ends', () => {
  test('a shutdown closes every socket with 1001, those that follow something too', async () => {
    const own = await new Process().start();
    const followers = Array.from({ length: 20 }, () => follow(own.address, TASKS));
    await Promise.all(followers.map(({ started }) => started));
    assert.equal(await own.stop('SIGTERM'), 0);
    assert.deepEqual(await Promise.all(followers.map(({ closed }) => closed)), Array(20).fill(1001));
  });

  test('a token that expires ends its socket with 4403, and opens none', async () => {
    const own = await new Process().start();
    const made = await own.graphql('mutation { a: createToken(input: { role: OPERATOR, name: "a", expiresInSeconds: 2 }) { ... on CreateTokenPayload { token } } }');
    const { token } = made.a;
    const { started, closed } = follow(own.address, TASKS, { token });
    await started;
    assert.equal(await closed, 4403);
    assert.equal(await follow(own.address, TASKS, { token }).closed, 4403);
    await own.stop('SIGTERM');
  });

  test('a token that is taken back ends its socket with 4403', async () => {
    const own = await new Process().start();
    const made = await own.graphql('mutation { a: createToken(input: { role: OPERATOR, name: "a" }) { ... on CreateTokenPayload { tokenId token } } }');
    const { tokenId, token } = made.a;
    const { started, closed } = follow(own.address, TASKS, { token });
    await started;
    await own.graphql('mutation ($id: ID!) { revokeToken(tokenId: $id) { __typename } }', { id: tokenId }, token);
    assert.equal(await closed, 4403);
    await own.stop('SIGTERM');
  });
});
