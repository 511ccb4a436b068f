// Traces: what a collector is told and what it is not, and that serving does not wait for one.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { test } from 'node:test';

import { Stage, TEXT } from '../field/stage.mjs';

const SECRET = 'the launch code is 0000';
/** More spans than are kept for a collector that does not take them. */
const MANY = 3_000;

const listening = async (server) => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${server.address().port}`;
};

async function answered(stage) {
  const session = await stage.session();
  const pending = await stage.ask(session, [{ ...TEXT, prompt: `${SECRET}?` }]);
  const { __typename } = await stage.respond(pending, [{ questionId: 'q1', customText: SECRET }]);
  assert.equal(__typename, 'ResponseAccepted');
}

test('a collector is told of operations, transactions and dispatches, and of no word of them', { timeout: 60_000 }, async (t) => {
  const heard = [];
  const collector = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    heard.push({ path: request.url, type: request.headers['content-type'], body: Buffer.concat(parts).toString('latin1') });
    response.end();
  });
  t.after(() => collector.close());
  const stage = await Stage.open(t, { flags: ['--otlp-endpoint', await listening(collector)] });
  await answered(stage);
  await stage.stop('SIGTERM'); // the last spans are sent by the end
  assert.ok(heard.length > 0);
  for (const { path, type } of heard) assert.deepEqual([path, type], ['/v1/traces', 'application/x-protobuf']);
  const told = heard.map(({ body }) => body).join('');
  for (const name of ['service.name', 'answerable', 'graphql', 'transact', 'dispatch']) assert.ok(told.includes(name), name);
  for (const word of [SECRET, 'customText', 'mutation(']) assert.ok(!told.includes(word), word);
});

for (const [name, collect] of [
  ['hangs', (socket) => socket.resume()],
  ['hangs up', (socket) => socket.destroy()],
]) {
  test(`a collector that ${name} costs spans, and neither answers nor the end of the server`, { timeout: 120_000 }, async (t) => {
    const open = new Set();
    const collector = createTcpServer((socket) => {
      open.add(socket.on('error', () => {}));
      collect(socket);
    });
    t.after(() => (open.forEach((socket) => socket.destroy()), collector.close()));
    const stage = await Stage.open(t, { flags: ['--otlp-endpoint', await listening(collector)] });
    for (let n = 0; n < MANY; n += 100) await Promise.all(Array.from({ length: 100 }, () => stage.graphql('{ viewer { role } }')));
    await answered(stage);
    assert.equal(await stage.stop('SIGTERM'), 0);
    assert.ok(open.size > 0);
  });
}
