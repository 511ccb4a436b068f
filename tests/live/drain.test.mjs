// A shutdown with work in its hands: what is under way ends within the setting, and what is followed ends so that its
// client comes back and goes on.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';

import { follow } from './follow.mjs';
import { Stage, until } from '../field/stage.mjs';

const CHANGES = 'subscription { taskChanges { __typename cursor } }';

/** A server with an answer in its hands that its agent does not take yet, and the answer's result. */
async function answering(t, env = {}) {
  const stage = await Stage.open(t, { script: ['hang'], env });
  const pending = await stage.ask(await stage.session());
  const answer = stage.respond(pending);
  answer.catch(() => {}); // whoever needs it, awaits it
  await until('the agent is called', () => stage.agent.prompts.length === 1);
  return { stage, answer };
}

/** A stream of events; `text` is all of it, once it has ended. */
async function stream(stage, headers = {}) {
  const response = await fetch(`http://${stage.address}/graphql`, {
    method: 'POST', headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers }, body: JSON.stringify({ query: CHANGES }),
  });
  assert.equal(response.status, 200);
  return response;
}

test('a shutdown lets the mutation that it finds under way end, and closes what is followed with 1001', { timeout: 60_000 }, async (t) => {
  const { stage, answer } = await answering(t);
  const { started, closed } = follow(stage.address, CHANGES);
  await started;
  const ended = stage.stop('SIGTERM');
  stage.agent.release();
  assert.equal((await answer).__typename, 'ResponseAccepted');
  assert.equal(await closed, 1001);
  assert.equal(await ended, 0);
});

test('what does not end within the setting does not hold up the end', { timeout: 60_000 }, async (t) => {
  const { stage } = await answering(t, { ANSWERABLE_SHUTDOWN_MS: '300', ANSWERABLE_DISPATCH_TIMEOUT_MS: '600000' });
  const [host, port] = stage.address.split(':');
  const idle = connect(Number(port), host, () => idle.write('POST /graphql HTTP/1.1\r\nhost: localhost\r\n'));
  idle.on('error', () => {});
  await new Promise((resolve) => idle.once('connect', resolve));
  assert.equal(await stage.stop('SIGTERM'), 0);
});

test('an event stream ends without a complete, and goes on behind its last event at the next server', { timeout: 60_000 }, async (t) => {
  const stage = await Stage.open(t);
  await stage.task(); // behind nothing there is no place to go on from
  const response = await stream(stage);
  const text = response.text();
  await stage.stop('SIGTERM');
  const events = (await text).split('\n\n').filter((event) => event.startsWith('event'));
  assert.ok(events.length > 0);
  assert.ok(events.every((event) => event.startsWith('event: next')), `${events}`);
  const last = /id: ?(\S+)/.exec(events.at(-1))[1];
  await stage.up();
  await stage.task('Paint the gate');
  const resumed = await stream(stage, { 'last-event-id': last });
  const reader = resumed.body.getReader();
  const heard = Buffer.from((await reader.read()).value).toString();
  assert.match(heard, /TaskChanged/);
  assert.doesNotMatch(heard, /Snapshot|Gap/);
  await reader.cancel();
});
