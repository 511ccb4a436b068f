// What a stranger may try against the production profile, at the figures of its default limits. First twelve checks of
// the kind that scanners make, then the rows H-01 to H-12, H-15 and H-16, each with what it leaves behind: a process
// that answers, has not grown, and logged no panic. The rest of H-09 and H-10 stands in socket.test.mjs, H-11 in
// slow.test.mjs. Times are told, not asserted. SLOW, SOCKETS, DOCUMENTS: how many of each.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import WebSocket from 'ws';

import { CHOICE, memory, Stage, TEXT } from '../field/stage.mjs';
import { Process } from '../process.mjs';

const server = new Process();
before(() => server.start());
after(() => server.stop('SIGTERM'));

const url = () => `http://${server.address}/graphql`;
const JSON_TYPE = { 'content-type': 'application/json' };

async function post(body, headers = JSON_TYPE) {
  const response = await fetch(url(), { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

async function refused(query, pattern) {
  const { text } = await post({ query });
  const { data, errors } = JSON.parse(text);
  assert.equal(data ?? null, null, query.slice(0, 60));
  assert.match(errors[0].message, pattern);
  return errors;
}

test('unknown names suggest no known ones', async () => {
  const errors = await refused('{ taskz { id } }', /taskz/);
  assert.doesNotMatch(JSON.stringify(errors), /did you mean|"tasks"/i);
});

test('the schema cannot be read', async () => {
  for (const query of ['{ __schema { types { name } } }', '{ __type(name: "Task") { name } }']) {
    assert.doesNotMatch((await post({ query })).text, /Task/, query);
  }
});

test('introspection that goes round in circles gives nothing', async () => {
  const round = '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }';
  assert.doesNotMatch((await post({ query: round })).text, /Clarification/);
});

test('there is no GraphQL editor', async () => {
  for (const path of ['/', '/graphql', '/graphiql', '/playground', '/console', '/v1/graphql']) {
    const page = await fetch(`http://${server.address}${path}`, { headers: { accept: 'text/html' } });
    assert.doesNotMatch(await page.text(), /graphiql|playground|apollo sandbox/i, path);
  }
});

test('GET executes no document that is not trusted', async () => {
  for (const query of ['{ __typename }', '{ tasks(first: 1) { edges { cursor } } }']) {
    assert.equal((await fetch(`${url()}?${new URLSearchParams({ query })}`)).status, 405);
  }
});

test('nothing is written by GET, whatever the operation is called', async () => {
  for (const query of ['mutation { createTask(input: { title: "x" }) { __typename } }', 'mutation Query { createTask(input: { title: "x" }) { __typename } }']) {
    assert.equal((await fetch(`${url()}?${new URLSearchParams({ query })}`)).status, 405);
  }
});

test('a form of another page cannot send anything', async () => {
  const form = new URLSearchParams({ query: 'mutation { createTask(input: { title: "x" }) { __typename } }' }).toString();
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
    assert.equal((await post(form, { 'content-type': type })).status, 415, type);
  }
  assert.equal((await post({ query: '{ __typename }' }, { ...JSON_TYPE, origin: 'https://evil.example' })).status, 403);
});

test('101 aliases are too many', async () => {
  const aliases = Array.from({ length: 101 }, (_, n) => `a${n}: __typename`).join(' ');
  await refused(`{ ${aliases} }`, /limited/);
});

test('a second response in one document is one too many', async () => {
  const one = 'respond(input: { pendingId: "x", clientKey: "x", answers: [] }) { __typename }';
  await refused(`mutation { a: ${one} b: ${one} }`, /limited to 1/);
});

test('a batch is refused', async () => {
  assert.equal((await post(Array.from({ length: 10 }, () => ({ query: '{ __typename }' })))).status, 400);
});

test('a heap of directives is refused', async () => {
  await refused(`{ __typename ${'@include(if: true) '.repeat(50)} }`, /limited/);
});

test('depth, fragments in a circle and a document of comments are refused', async () => {
  await refused(`{ node(id: "x") { ... on Task { ${'sessions { task { '.repeat(8)}id${' } }'.repeat(8)} } } }`, /limited|nest|depth/);
  await refused('{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }', /limited|cycle|itself/i);
  await refused(`{ __typename }${'#\n'.repeat(40_000)}`, /limited/);
});

test('no trace and no inner text stands in an answer', async () => {
  const tries = ['qwerty cop { abc }', '{ node(id: 1e400) { id } }', '{ task(id: "\u0000") { id } }', '{ tasks(first: 99999999999) { edges { cursor } } }'];
  for (const query of tries) {
    const { status, text } = await post({ query });
    assert.ok(status < 500, query);
    assert.doesNotMatch(text, /src\/|\.rs|sqlite|panicked|SELECT |tracing"/, query);
  }
});

const SLOW = Number(process.env.SLOW ?? 1_000);
const SOCKETS = Number(process.env.SOCKETS ?? 2_000);
const DOCUMENTS = Number(process.env.DOCUMENTS ?? 10_000);
const GROWTH_MAX_MIB = 32;
const PROBES = 200;

/** The one server that all rows meet. */
let stage;
const ends = [];
before(async () => {
  // The allocator keeps what an idle thread freed for its next use. Told to give it back at once, what the process grew
  // by is what the server holds.
  const env = { MIMALLOC_PURGE_DELAY: '0' };
  stage = await Stage.open({ after: (end) => ends.push(end) }, { env, filter: 'info' });
  await healthy();
});
after(() => Promise.all(ends.map((end) => end())));

/** Answers that a healthy client gets one after the other: the slowest but one in a hundred, in milliseconds. */
async function healthy() {
  const took = [];
  for (let n = 0; n < PROBES; n += 1) {
    const start = performance.now();
    assert.deepEqual(await stage.graphql('{ viewer { role } }'), { viewer: { role: 'OPERATOR' } });
    took.push(performance.now() - start);
  }
  return took.sort((one, other) => one - other)[Math.floor(PROBES * 0.99)];
}

/** A row of the list, and what must hold after each. */
function row(name, title, tried) {
  test(`${name}: ${title}`, { timeout: 180_000 }, async (t) => {
    const base = memory(stage.pid);
    await tried(t);
    const growth = memory(stage.pid) - base;
    console.log(`${name} growth_mib=${growth.toFixed(1)} p99_ms_after=${(await healthy()).toFixed(1)}`);
    assert.ok(growth <= GROWTH_MAX_MIB, `the process grew by ${growth.toFixed(1)} MiB`);
    assert.doesNotMatch(stage.log, /panicked/);
  });
}

/** Status and errors of a request whose body is sent as it is. */
async function sent(body, headers = {}) {
  const response = await fetch(`http://${stage.address}/graphql`, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body });
  const { data, errors = [] } = await response.json();
  return { status: response.status, data, errors };
}

const ask = (query, variables) => sent(JSON.stringify({ query, variables }));

/** Refused before anything of it ran, with the limit by name and number. */
async function limited(query, limit, name) {
  const { status, data, errors } = await ask(query);
  const [{ message, extensions }] = errors;
  assert.deepEqual([status, data, extensions.code, extensions.limit], [400, undefined, 'LIMIT_EXCEEDED', limit], message);
  assert.match(message, name);
}

/** Passes every limit: whatever else is wrong with it, it is not too large. */
async function admitted(query) {
  const { errors } = await ask(query);
  assert.ok(!errors.some(({ extensions }) => extensions.code === 'LIMIT_EXCEEDED'), errors[0]?.message);
}

/** So many fields, each within the one before. */
const deep = (count) => `{ session(id: "x") ${Array.from({ length: count - 2 }, (_, n) => `{ ${n % 2 ? 'session' : 'activeClarification'}`).join(' ')} { __typename } ${'}'.repeat(count - 2)} }`;
const nested = (count) => `{ ${'... { '.repeat(count)}__typename${' }'.repeat(count)} }`;

row('H-01', 'a document is 12 fields deep, 32 selections, 64 brackets and 10,000 selections large at most', async () => {
  await admitted(deep(12).replace('__typename', 'id'));
  await limited(deep(13).replace('__typename', 'id'), 12, /depth of fields/);
  await admitted(nested(31)); // the field in it is one more
  await limited(nested(32), 32, /nesting of selections/);
  await limited(nested(200), 64, /nesting/);
  const list = (count) => `{ node(id: ${'['.repeat(count)}${']'.repeat(count)}) { id } }`;
  await limited(list(1_000), 64, /nesting/);
  await limited(list(10_000), 5_000, /number of tokens/);
  await limited('{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }', 32, /nesting of selections/);
  const spreads = (from, to) => `fragment f${from} on Query { ${`...f${to} `.repeat(10)}}`;
  const bomb = `{ ...f1 } ${[1, 2, 3, 4, 5].map((n) => spreads(n, n + 1)).join(' ')} fragment f6 on Query { __typename }`;
  await limited(bomb, 10_000, /number of selections/);
});

row('H-02', '20 root fields, 100 aliases, one response and a cost of 5,000 at most', async () => {
  const one = 'respond(input: { pendingId: "x", clientKey: "x", answers: [] }) { __typename }';
  const many = (count, field) => Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ');
  await limited(`mutation { ${many(1_000, one)} }`, 32_768, /length in bytes/);
  await limited(`mutation { ${many(101, one)} }`, 100, /aliases/);
  await limited(`{ ${many(1_000, '__typename')} }`, 100, /aliases/);
  await limited(`mutation { a: ${one} b: ${one} }`, 1, /respond and skip/);
  await admitted(`{ ${'__typename '.repeat(20)} }`);
  await limited(`{ ${'__typename '.repeat(21)} }`, 20, /root fields/);
  const { data, errors } = await ask('{ tasks(first: 100) { edges { node { sessions { messages(first: 100) { edges { node { id } } } } } } } }');
  assert.deepEqual([data ?? null, errors[0].extensions.code], [null, 'LIMIT_EXCEEDED']);
});

row('H-03', '20 directives, 32 KiB and 5,000 tokens at most', async () => {
  const directed = (count) => `{ ${'__typename @include(if: true) '.repeat(count)} }`;
  await admitted(directed(20));
  await limited(directed(21), 20, /directives/);
  await limited(`{ __typename ${'@skip(if: true) '.repeat(50_000)} }`, 32_768, /length in bytes/);
  const padded = (bytes) => `{ __typename }#${'x'.repeat(bytes - 15)}`;
  await admitted(padded(32_768));
  await limited(padded(32_769), 32_768, /length in bytes/);
  await limited(padded(1 << 20).slice(0, 1_000_000), 32_768, /length in bytes/);
  await limited(`{ ${'a '.repeat(4_999)}}`, 5_000, /number of tokens/);
});

row('H-04', 'a batch of 1,000 operations is refused', async () => {
  const { status, errors } = await sent(JSON.stringify(Array(1_000).fill({ query: '{ __typename }' })));
  assert.deepEqual([status, errors[0].extensions.code], [400, 'BAD_REQUEST']);
});

/** Writes pieces until the server answers or hangs up: its status, if that came first, and how many bytes it let come. */
function poured(pieces, headers = {}) {
  return new Promise((resolve, reject) => {
    const outgoing = request(`http://${stage.address}/graphql`, { method: 'POST', headers: { ...JSON_TYPE, ...headers } });
    let [status, bytes] = [null, 0];
    outgoing.on('response', (answer) => {
      status = answer.statusCode;
      answer.resume();
      resolve({ status, bytes });
      outgoing.destroy();
    });
    outgoing.on('error', (error) => (['EPIPE', 'ECONNRESET'].includes(error.code) ? resolve({ status, bytes }) : reject(error)));
    const pour = () => {
      if (status !== null) return;
      const { done, value } = pieces.next();
      if (done) return void outgoing.end();
      bytes += value.length;
      outgoing.write(value, () => setImmediate(pour));
    };
    pour();
  });
}

row('H-05', 'a body is 1 MiB at most, and is neither read on nor unpacked', async () => {
  const endless = (function* () {
    for (;;) yield 'x'.repeat(65_536);
  })();
  const { status, bytes } = await poured(endless);
  const refused = [413, null]; // who still writes may find the connection closed before it reads why
  assert.ok(refused.includes(status), `${status}`);
  assert.ok(bytes < 64 << 20, 'it was not read on');
  assert.ok(refused.includes((await poured(['x'.repeat(5 << 20)].values())).status));
  assert.equal((await sent('x'.repeat((1 << 20) + 1))).status, 413);
  const bomb = gzipSync(JSON.stringify({ query: '{ __typename }', variables: { a: 'x'.repeat(64 << 20) } }));
  assert.equal((await sent(bomb, { 'content-encoding': 'gzip' })).status, 400);
});

row('H-06', 'variables are nested 64 deep at most, numbers are finite, lists and texts have limits of their own', async () => {
  const body = (variables) => `{"query":"{ __typename }","variables":{"a":${variables}}}`;
  const brackets = (count) => '['.repeat(count) + ']'.repeat(count);
  assert.equal((await sent(body(brackets(62)))).status, 200);
  for (const count of [63, 10_000]) {
    const { status, errors } = await sent(body(brackets(count)));
    assert.deepEqual([status, errors[0].extensions.limit], [400, 64]);
  }
  assert.equal((await sent(body('1e400'))).status, 400);
  assert.ok([413, null].includes((await poured([body(`[${'0,'.repeat(999_999)}0]`)].values())).status));
  const many = { input: { pendingId: 'x', clientKey: 'x', answers: Array(200_000).fill({}) } };
  const { data } = await ask('mutation ($input: RespondInput!) { respond(input: $input) { __typename } }', many);
  assert.equal(data ?? null, null);
  const session = await stage.session();
  const fault = async (questions) => (await stage.askWhole(session, questions)).errors.map(({ path, code }) => `${path} ${code}`);
  const options = (count) => Array.from({ length: count }, (_, n) => ({ label: `${n}` }));
  assert.match((await fault(Array(5).fill(TEXT))).join(), /questions TOO_MANY/);
  assert.match((await fault([{ ...CHOICE, options: options(7) }])).join(), /options TOO_MANY/);
  const pending = await stage.ask(session, [TEXT]);
  const { errors } = await stage.respond(pending, [{ questionId: 'q1', customText: 'x'.repeat(2_001) }]);
  assert.deepEqual([errors[0].code, errors[0].limit], ['TOO_LONG', 2_000]);
});

row('H-07', 'what is no text is refused, and any other text comes back as it was', async () => {
  const bytes = (part) => Buffer.concat([Buffer.from('{"query":"{ __typename }","variables":{"a":"'), part, Buffer.from('"}}')]);
  assert.equal((await sent(bytes(Buffer.from([0xc3, 0x28])))).status, 400);
  assert.equal((await sent(bytes(Buffer.from('\\ud800')))).status, 400);
  const pending = await stage.ask(await stage.session(), [TEXT]);
  const answer = (customText) => stage.respond(pending, [{ questionId: 'q1', customText }], `key ${customText}`);
  const refused = await answer('a\u0000b');
  assert.deepEqual([refused.__typename, refused.errors[0].code], ['InvalidResponse', 'NOT_ALLOWED']);
  assert.equal((await stage.bundle(pending)).response, null);
  const odd = 'a\u202Eb\u200B\u0007\u001b[31m<script>\u2066 \ud83d\ude00';
  assert.equal((await answer(odd)).__typename, 'ResponseAccepted');
  assert.equal((await stage.bundle(pending)).questions[0].answer.customText, odd);
});

row('H-08', 'a row with values of wrong types is inert, and all others are served', async () => {
  const session = await stage.session();
  const [bad, good] = [await stage.ask(session, [TEXT]), await stage.ask(session, [TEXT])];
  const path = '$.question';
  const before = stage.sql('SELECT metadata FROM task_session_messages WHERE pending_id = ?', bad);
  stage.sql('UPDATE task_session_messages SET metadata = json_set(metadata, ?, json(\'["no", 1]\')) WHERE pending_id = ?', path, bad);
  const inbox = (await stage.inbox()).map(({ pendingId }) => pendingId);
  assert.ok(inbox.includes(good) && !inbox.includes(bad));
  assert.equal(await stage.bundle(bad), null);
  stage.sql('UPDATE task_session_messages SET metadata = ? WHERE pending_id = ?', before[0][0], bad); // as the end checks the file
});

row('H-09', `${SOCKETS} sockets at once that do not introduce themselves are closed with 4408, and hold nobody up`, async () => {
  const alone = await healthy();
  const closed = Array.from({ length: SOCKETS }, () => {
    const socket = new WebSocket(`ws://${stage.address}/graphql/ws`, 'graphql-transport-ws', { perMessageDeflate: false });
    socket.on('error', () => {});
    return new Promise((resolve) => socket.once('close', resolve));
  });
  const meanwhile = await healthy();
  console.log(`sockets=${SOCKETS} p99_ms_alone=${alone.toFixed(1)} p99_ms_meanwhile=${meanwhile.toFixed(1)}`);
  assert.deepEqual([...new Set(await Promise.all(closed))], [4408]);
});

/** A socket that has introduced itself: what it hears, and how it ends. */
async function introduced() {
  const socket = new WebSocket(`ws://${stage.address}/graphql/ws`, 'graphql-transport-ws', { perMessageDeflate: false });
  const heard = [];
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => socket.once('open', resolve));
  const say = (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  const acknowledged = new Promise((resolve) => socket.once('message', resolve));
  say({ type: 'connection_init' });
  await acknowledged;
  socket.on('message', (data) => heard.push(JSON.parse(data)));
  return { socket, heard, closed, say };
}

row('H-10', 'a socket has 100 operations, 20 pings a second and messages of 256 KiB at most', async () => {
  const greedy = await introduced();
  for (let n = 0; n < 10_000; n += 1) greedy.say({ type: 'subscribe', id: `${n}`, payload: { query: 'subscription { taskChanges { cursor } }' } });
  assert.equal(await greedy.closed, 4400);
  assert.ok(new Set(greedy.heard.map(({ id }) => id)).size <= 100);
  const noisy = await introduced();
  for (let n = 0; n < 1_000; n += 1) noisy.say({ type: 'ping' });
  assert.equal(await noisy.closed, 4400);
  assert.ok(noisy.heard.length <= 20);
  const large = (bytes) => `{"type":"ping","payload":{"a":"${'x'.repeat(bytes - 34)}"}}`;
  const exact = await introduced();
  assert.equal(large(262_144).length, 262_144);
  exact.say(large(262_144));
  while (exact.heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  exact.say(large(262_145));
  assert.equal(await exact.closed, 4400);
  const huge = await introduced();
  huge.say(large(16 << 20));
  assert.ok([4400, 1006].includes(await huge.closed)); // who still writes may not hear why
});

const POST = 'POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
const BEGINNINGS = [POST, `${POST}content-length: 100\r\n\r\n{"query"`, 'GET /graphql/ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n'];

row('H-12', `${SLOW} connections that never finish their head or body hold nobody up, and are ended`, async () => {
  const alone = await healthy();
  const [host, port] = stage.address.split(':');
  const ended = Array.from({ length: SLOW }, (_, n) => {
    const socket = connect(Number(port), host, () => socket.write(BEGINNINGS[n % BEGINNINGS.length]));
    socket.resume().on('error', () => {});
    return new Promise((resolve) => socket.once('close', resolve));
  });
  const meanwhile = await healthy();
  console.log(`slow=${SLOW} p99_ms_alone=${alone.toFixed(1)} p99_ms_meanwhile=${meanwhile.toFixed(1)}`);
  await Promise.all(ended); // by the server: the test ends none
});

row('H-15', 'no page of another origin gets anything done', async () => {
  const write = JSON.stringify({ query: 'mutation { createTask(input: { title: "theirs" }) { __typename } }' });
  const origin = 'https://evil.example';
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
    assert.equal((await sent(write, { 'content-type': type })).status, 415, type);
  }
  for (const path of ['graphql', 'graphql/ws', '', 'metrics']) {
    for (const foreign of [origin, 'null', `http://${stage.address}.evil.example`]) {
      const response = await fetch(`http://${stage.address}/${path}`, { headers: { origin: foreign } });
      assert.equal(response.status, 403, `${path} ${foreign}`);
      assert.equal(response.headers.get('access-control-allow-origin'), null);
    }
  }
  const { errors = [] } = await sent(write, { origin }).catch(() => ({}));
  assert.equal(errors.length, 0); // its answer is no GraphQL
  assert.ok(!(await stage.tasks()).some(({ title }) => title === 'theirs'));
});

/** Numbers that are the same in each run (mulberry32). */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

row('H-16', `${DOCUMENTS} bad documents learn nothing of what is inside`, async () => {
  const good = ['{ tasks(first: 3) { edges { node { id title sessions { id } } } } }', 'query ($id: ID!) { clarification(pendingId: $id) { state questions { id } } }', 'mutation { skip(input: { pendingId: "x", clientKey: "x" }) { __typename } }', '{ node(id: "x") { ... on Task { id } } }'];
  const pieces = ['{', '}', '(', ')', '"', '"""', '\\u0000', '...', '$', '@skip(if: true)', 'null', '1e999', '-0', '[', 'fragment a on Task', '__schema { types { name } }', '\'; DROP TABLE tasks; --', 'ä', '\u0007', '#'];
  const pick = random(7);
  const leak = /src\/|\.rs\b|\/home\/|\/work\/|\/usr\/|sqlite|diesel|panicked|SELECT |task_session|did you mean/i;
  const one = async () => {
    const base = good[pick(good.length)];
    const at = pick(base.length);
    const query = base.slice(0, at) + pieces[pick(pieces.length)] + base.slice(at + pick(8));
    const response = await fetch(`http://${stage.address}/graphql`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ query, variables: { id: pieces[pick(pieces.length)] } }) });
    const text = await response.text();
    assert.ok(response.status < 500, query);
    assert.doesNotMatch(text.replaceAll('DROP TABLE tasks', ''), leak, query);
  };
  for (let n = 0; n < DOCUMENTS; n += 20) await Promise.all(Array.from({ length: 20 }, one));
});
