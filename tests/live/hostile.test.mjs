// What a stranger may try against the production profile: twelve checks of the kind that scanners make.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

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
