// GraphQL over HTTP: every audit of the reference suite, and what that suite leaves out.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';

import { serverAudits } from 'graphql-http';

import { Process } from '../process.mjs';

const JSON_TYPE = 'application/json';
const GRAPHQL_TYPE = 'application/graphql-response+json';
const QUERY = '{ __typename }';

// GET with any document is open in this profile only; hostile.test.mjs shows that production refuses it.
const server = new Process({ ANSWERABLE_PROFILE: 'development' });
before(() => server.start());
after(() => server.stop('SIGTERM'));

const url = () => `http://${server.address}/graphql`;

async function send(body, { method = 'POST', headers = {}, search = '' } = {}) {
  const response = await fetch(url() + search, { method, headers: { 'content-type': JSON_TYPE, ...headers }, body });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text ? JSON.parse(text) : null };
}

const post = (query, headers) => send(JSON.stringify({ query }), { headers });
const get = (parameters, headers) => send(undefined, { method: 'GET', search: `?${new URLSearchParams(parameters)}`, headers });

/** A GraphQL error body: no data, and a code a client can act on. */
function assertRequestError({ json }, code) {
  assert.ok(!('data' in json), 'nothing was executed, so there is no data');
  assert.equal(json.errors[0].extensions.code, code);
}

describe('audits of graphql-http', () => {
  const audits = serverAudits({ url: '', fetchFn: fetch });

  test('there are 61 of them', () => assert.equal(audits.length, 61));

  for (const [index, audit] of audits.entries()) {
    test(`${audit.id} ${audit.name}`, async () => {
      const { fn } = serverAudits({ url: url(), fetchFn: fetch })[index];
      const result = await fn();
      if (result.response?.body && !result.response.bodyUsed) await result.response.body.cancel();
      assert.equal(result.status, 'ok', result.reason);
    });
  }
});

describe('methods', () => {
  test('a mutation by GET is refused with the methods that are allowed, named or not', async () => {
    for (const query of ['mutation { __typename }', 'mutation M { __typename }']) {
      const answer = await get({ query });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.get('allow'), 'POST');
      assertRequestError(answer, 'BAD_REQUEST');
    }
  });

  test('other methods are refused with the methods that are allowed', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const answer = await send('{}', { method });
      assert.equal(answer.status, 405, method);
      assert.equal(answer.headers.get('allow'), 'GET, POST', method);
    }
  });

  test('operationName selects the operation of a GET', async () => {
    const answer = await get({ query: 'query A { a: __typename } query B { b: __typename }', operationName: 'B' });
    assert.deepEqual(answer.json.data, { b: 'Query' });
  });

  test('a subscription that asks for no stream is refused', async () => {
    assertRequestError(await post('subscription { taskChanges { cursor } }'), 'BAD_REQUEST');
  });
});

describe('media types', () => {
  const types = async (accept) => {
    const answer = await post(QUERY, { accept });
    return [answer.status, answer.headers.get('content-type')?.split(';')[0]];
  };

  test('the preferred type of those that are offered is used', async () => {
    assert.deepEqual(await types(`${JSON_TYPE};q=0.5, ${GRAPHQL_TYPE}`), [200, GRAPHQL_TYPE]);
    assert.deepEqual(await types(`${GRAPHQL_TYPE};q=0.5, ${JSON_TYPE}`), [200, JSON_TYPE]);
    assert.deepEqual(await types(`${GRAPHQL_TYPE}, ${JSON_TYPE};q=0.9`), [200, GRAPHQL_TYPE]);
    assert.deepEqual(await types(`${JSON_TYPE};q=0, */*;q=0.1`), [200, GRAPHQL_TYPE]);
    assert.deepEqual(await types('text/html, */*;q=0.8'), [200, JSON_TYPE]);
    assert.deepEqual(await types('APPLICATION/JSON; Charset=UTF-8'), [200, JSON_TYPE]);
  });

  test('a client that takes none of them gets 406', async () => {
    for (const accept of ['text/html', `${JSON_TYPE};q=0`, 'application/xml, image/*', 'text/event-stream;q=0']) {
      const answer = await post(QUERY, { accept });
      assert.equal(answer.status, 406, accept);
      assertRequestError(answer, 'BAD_REQUEST');
    }
  });

  test('only JSON in UTF-8 is read', async () => {
    const body = JSON.stringify({ query: QUERY });
    const others = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', `${JSON_TYPE}; charset=latin1`];
    for (const type of others) {
      const answer = await send(body, { headers: { 'content-type': type } });
      assert.equal(answer.status, 415, type);
      assertRequestError(answer, 'BAD_REQUEST');
    }
    assert.equal((await send(body, { headers: { 'content-type': `${JSON_TYPE}; charset="utf-8"` } })).status, 200);
  });
});

describe('statuses', () => {
  test('what failed before execution is 400 under the GraphQL type and 200 under JSON', async () => {
    for (const query of ['{', '{ nothingOfTheKind }', 'query ($a: ID!) { node(id: $a) { id } }']) {
      const strict = await post(query, { accept: GRAPHQL_TYPE });
      const lenient = await post(query, { accept: JSON_TYPE });
      assert.deepEqual([strict.status, lenient.status], [400, 200], query);
      assert.ok(!('data' in strict.json) && !('data' in lenient.json), query);
    }
  });

  test('data beside errors is a success', async () => {
    const broken = '{ viewer { __typename } node(id: "nothing of the kind") { id } }';
    const answer = await post(broken, { accept: GRAPHQL_TYPE });
    assert.equal(answer.status, 200);
    assert.equal(answer.json.data.node, null);
  });

  test('a body beyond the limit is 413 with a GraphQL error, also without a length', async () => {
    const large = JSON.stringify({ query: QUERY, variables: { text: 'x'.repeat(2 << 20) } });
    const answer = await send(large);
    assert.equal(answer.status, 413);
    assertRequestError(answer, 'LIMIT_EXCEEDED');
    assert.equal(await chunked(large), 413);
  });

  test('a batch and other JSON are 400', async () => {
    for (const body of [JSON.stringify([{ query: QUERY }]), '"text"', 'null', '{"query":']) {
      const answer = await send(body);
      assert.equal(answer.status, 400, body);
      assertRequestError(answer, 'BAD_REQUEST');
    }
  });

  test('JSON that is nested beyond the limit is 400 before it is read', async () => {
    const deep = `{"query":"${QUERY}","variables":{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`;
    assertRequestError(await send(deep), 'LIMIT_EXCEEDED');
  });

  test('text that is no UTF-8 is 400', async () => {
    const body = Buffer.concat([Buffer.from('{"query":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    assert.equal((await send(body)).status, 400);
  });
});

/** The status of a body that is sent in pieces, without a length before it. */
function chunked(body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': JSON_TYPE, 'transfer-encoding': 'chunked' };
    const outgoing = request(url(), { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
