// Who somebody is, tried by a stranger: H-14 on every way in, and H-18 with its times, which are told and not asserted.
// TRIES: of each kind.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { Stage, TEXT, until } from '../field/stage.mjs';

const WebSocket = createRequire(new URL('../live/', import.meta.url))('ws'); // it is installed there
const LIMIT = { timeout: 180_000 };
const TRIES = Number(process.env.TRIES ?? 1_000);
const MADE = '... on CreateTokenPayload { tokenId token }';
const ROLE = '{ viewer { role } }';

/** A server that knows an operator, and that operator's token. */
async function guarded(t) {
  const stage = await Stage.open(t);
  const { createToken } = await stage.graphql(`mutation { createToken(input: { role: OPERATOR, name: "own" }) { ${MADE} } }`);
  const make = async (more) => (await stage.graphql(`mutation { createToken(input: { role: OPERATOR, name: "other" ${more} }) { ${MADE} } }`, {}, createToken.token)).createToken;
  return { stage, token: createToken.token, make };
}

const segment = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Credentials that open nothing, by what is wrong with them. */
async function refused({ stage, token, make }) {
  const [expired, revoked] = [await make(', expiresInSeconds: 1'), await make('')];
  await stage.graphql('mutation ($id: ID!) { revokeToken(tokenId: $id) { __typename } }', { id: revoked.tokenId }, token);
  await until('it expires', async () => (await stage.post(ROLE, {}, { token: expired.token })).status === 401);
  const last = token.at(-1) === 'A' ? 'B' : 'A';
  const claims = segment({ sub: 'operator', role: 'OPERATOR', exp: 4_000_000_000 });
  return {
    none: undefined,
    unknown: `Bearer ans_${'A'.repeat(43)}`,
    tampered: `Bearer ${token.slice(0, -1)}${last}`,
    longer: `Bearer ${token}A`,
    'without its prefix': `Bearer ${token.replace('ans_', '')}`,
    expired: `Bearer ${expired.token}`,
    revoked: `Bearer ${revoked.token}`,
    'alg none': `Bearer ${segment({ alg: 'none', typ: 'JWT' })}.${claims}.`,
    'a signature of nobody': `Bearer ${segment({ alg: 'HS256', typ: 'JWT' })}.${claims}.c2lnbmF0dXJl`,
    'another scheme': `Basic ${Buffer.from(`me:${token}`).toString('base64')}`,
    'no scheme': token,
    empty: 'Bearer ',
  };
}

test('H-14: whatever is wrong with credentials, HTTP and MCP answer 401 in the same words, and a URL carries none', LIMIT, async (t) => {
  const own = await guarded(t);
  const { stage, token } = own;
  const asked = async (path, authorization, accept, body) => {
    const headers = { 'content-type': 'application/json', accept, ...(authorization !== undefined && { authorization }) };
    const response = await fetch(`http://${stage.address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };
  const list = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } };
  const ways = {
    '/graphql': (authorization, more = '') => asked(`/graphql${more}`, authorization, 'application/json', { query: ROLE }),
    'a stream': (authorization, more = '') => asked(`/graphql${more}`, authorization, 'text/event-stream', { query: 'subscription { taskChanges { cursor } }' }),
    '/mcp': (authorization, more = '') => asked(`/mcp${more}`, authorization, 'application/json, text/event-stream', list),
  };
  assert.equal((await ways['/graphql'](`Bearer ${token}`)).status, 200);
  const bad = await refused(own);
  for (const [way, ask] of Object.entries(ways)) {
    const answers = new Set();
    for (const [what, authorization] of Object.entries(bad)) {
      const { status, text } = await ask(authorization);
      assert.equal(status, 401, `${way}, ${what}: ${text}`);
      answers.add(text);
    }
    for (const name of ['token', 'access_token', 'authorization', 'bearer']) {
      const { status, text } = await ask(undefined, `?${name}=${encodeURIComponent(token)}`);
      assert.equal(status, 401, `${way}, ${name} in the URL`);
      answers.add(text);
    }
    assert.equal(answers.size, 1, `${way}: ${[...answers].join('\n')}`);
  }
});

/** What a socket is told first, or the code and reason with which it is closed. */
function told(stage, { headers, payload, path = '' }) {
  const socket = new WebSocket(`ws://${stage.address}/graphql/ws${path}`, 'graphql-transport-ws', { headers });
  return new Promise((resolve, reject) => {
    socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })));
    socket.once('message', (data) => {
      resolve({ said: JSON.parse(data).type });
      socket.terminate();
    });
    socket.once('close', (code, reason) => resolve({ code, reason: `${reason}` }));
    socket.once('error', reject);
  });
}

test('H-14: a socket closes with 4403 for all of them, and its payload goes before its header', LIMIT, async (t) => {
  const own = await guarded(t);
  const { stage, token } = own;
  for (const [what, authorization] of Object.entries(await refused(own))) {
    if (authorization === token) continue; // a payload may leave the scheme out
    const { code, reason } = await told(stage, { payload: { authorization } });
    assert.deepEqual([code, reason], [4403, 'Forbidden'], what);
  }
  const good = `Bearer ${token}`;
  assert.equal((await told(stage, { payload: {}, path: `?token=${token}&authorization=${token}` })).code, 4403);
  assert.equal((await told(stage, { headers: { authorization: good }, payload: { authorization: 'Bearer nonsense' } })).code, 4403);
  assert.equal((await told(stage, { headers: { authorization: 'Bearer nonsense' }, payload: { authorization: good } })).said, 'connection_ack');
  assert.equal((await told(stage, { headers: { authorization: good }, payload: {} })).said, 'connection_ack');
});

test(`H-18: ${TRIES} ids that are not there and as many of others are answered alike, whatever names them`, LIMIT, async (t) => {
  const { stage, token } = await guarded(t);
  const operator = (query, variables) => stage.graphql(query, variables, token);
  stage.sql("INSERT INTO workspaces (id, name, created_us) VALUES ('theirs', 'theirs', 1)");
  const input = (name, kind, value, take) => operator(`mutation($input: ${kind}!) { ${name}(input: $input) { ${take} } }`, { input: value }).then((data) => data[name]);
  const { taskId } = await input('createTask', 'CreateTaskInput', { title: 'theirs', workspaceId: 'theirs' }, '... on TaskPayload { taskId }');
  const { sessionId } = await input('createSession', 'CreateSessionInput', { taskId }, '... on SessionPayload { sessionId }');
  const { pendingId } = await input('askClarification', 'AskClarificationInput', { sessionId, questions: [TEXT] }, '... on ClarificationOutcome { pendingId }');
  const { token: person } = await input('createToken', 'CreateTokenInput', { role: 'PERSON', name: 'p', workspaceIds: ['default'] }, MADE);
  const asks = {
    task: [taskId, 'query($id: ID!) { task(id: $id) { id } }'],
    session: [sessionId, 'query($id: ID!) { session(id: $id) { id } }'],
    clarification: [pendingId, 'query($id: ID!) { clarification(pendingId: $id) { state } }'],
    node: [pendingId, 'query($id: ID!) { node(id: $id) { id } }'],
    respond: [pendingId, 'mutation($id: ID!) { respond(input: { pendingId: $id, clientKey: "k", answers: [] }) { __typename ... on NotFound { message } } }'],
    skip: [pendingId, 'mutation($id: ID!) { skip(input: { pendingId: $id, clientKey: "k" }) { __typename ... on NotFound { message } } }'],
  };
  for (const [name, [theirs, query]] of Object.entries(asks)) {
    const took = { theirs: [], unknown: [] };
    const answers = new Set();
    for (let n = 0; n < TRIES; n += 1) {
      // Of the same form, from the same time.
      const unknown = theirs.slice(0, 19) + randomUUID().slice(19);
      for (const [kind, id] of n % 2 ? [['theirs', theirs], ['unknown', unknown]] : [['unknown', unknown], ['theirs', theirs]]) {
        const start = performance.now();
        const response = await stage.post(query, { id }, { token: person });
        const text = await response.text();
        took[kind].push(performance.now() - start);
        answers.add(`${response.status} ${text}`);
      }
    }
    const median = (times) => times.sort((one, other) => one - other)[Math.floor(times.length / 2)] * 1_000;
    const [own, none] = [median(took.theirs), median(took.unknown)];
    console.log(`H-18 ${name} tries=${TRIES} median_us_theirs=${own.toFixed(0)} median_us_unknown=${none.toFixed(0)} differ_percent=${((100 * Math.abs(own - none)) / none).toFixed(1)}`);
    assert.equal(answers.size, 1, `${name}: ${[...answers].join('\n')}`);
  }
});
