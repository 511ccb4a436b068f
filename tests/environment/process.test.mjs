// What happens to the process itself: its clock is moved (E-05), it is suspended (E-06), it has no descriptors or threads
// left (E-10).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { test } from 'node:test';

import { pause, Stage, TEXT, until } from '../field/stage.mjs';
import { failing, ticks } from './world.mjs';

const LIMIT = { timeout: 120_000 };
const ANSWER = [{ questionId: 'q1', customText: 'Mind the dog' }];

test('E-06: who waits, who follows and what is dispatched outlive a suspension that is longer than every deadline', LIMIT, async (t) => {
  const env = { ANSWERABLE_DISPATCH_TIMEOUT_MS: '1500', ANSWERABLE_RESPOND_WAIT_MS: '1000', ANSWERABLE_PING_PERIOD_MS: '200', ANSWERABLE_WS_PING_MS: '300', ANSWERABLE_REATTACH_GRACE_MS: '500' };
  const stage = await Stage.open(t, { env, script: ['hang'] });
  const sessions = await Promise.all(Array.from({ length: 10 }, () => stage.session()));
  const pending = await Promise.all(sessions.map((session) => stage.ask(session, [TEXT])));
  const agents = await Promise.all(pending.map((id) => stage.live(id, 60)));
  const followed = await stage.hear(sessions[0]);
  const detached = await stage.ask(await stage.session(), [TEXT]);
  const dispatching = stage.respond(detached, ANSWER);
  await until('the agent is called', () => stage.agent.prompts.length === 1);
  process.kill(stage.pid, 'SIGSTOP');
  await pause(3_000); // twice the longest of those deadlines
  process.kill(stage.pid, 'SIGCONT');
  const late = await dispatching;
  assert.deepEqual([late.__typename, late.code, late.retryable], ['DeliveryFailed', 'UNKNOWN', false]);
  assert.equal(stage.agent.prompts.length, 1, 'it is not sent again');
  const states = await Promise.all(pending.map(async (id) => (await stage.bundle(id)).state));
  assert.deepEqual(states, Array(10).fill('ACTIVE_LIVE'), 'nobody was detached');
  for (const id of pending) assert.equal((await stage.respond(id, ANSWER)).__typename, 'ResponseAccepted');
  for (const { outcome } of agents) assert.equal((await outcome).status, 'ANSWERED');
  await until('the follower hears', () => followed.items.some((item) => item.message?.clarification?.state === 'TERMINAL'));
  followed.socket.terminate();
});

test('E-10: without descriptors the server takes no connection and goes on, without turning round; then it takes them again', LIMIT, async (t) => {
  const stage = await Stage.open(t, { filter: 'info' });
  const session = await stage.session();
  const limit = (count) => execFileSync('prlimit', ['--pid', `${stage.pid}`, `--nofile=${count}:4096`]);
  const pending = await stage.ask(session, [TEXT]);
  const agent = await stage.live(pending);
  const followed = await stage.hear(session);
  const used = Number(execFileSync('sh', ['-c', `ls /proc/${stage.pid}/fd | wc -l`], { encoding: 'utf8' }));
  limit(used + 5);
  const [host, port] = stage.address.split(':');
  const sockets = Array.from({ length: 40 }, () => connect(Number(port), host).on('error', () => {}));
  await until('there are none left', () => Number(execFileSync('sh', ['-c', `ls /proc/${stage.pid}/fd | wc -l`], { encoding: 'utf8' })) >= used + 5);
  const before = ticks(stage.pid);
  await pause(2_000);
  const busy = ticks(stage.pid) - before;
  console.log(`E-10 processor_ms_of_2000=${busy * 10}`);
  assert.ok(busy < 50, `it turned round for ${busy * 10} ms of 2,000`);
  limit(1_024);
  sockets.forEach((socket) => socket.destroy());
  await until('it takes connections again', () => fetch(`http://${stage.address}/readyz`).then(({ status }) => status === 204, () => false));
  assert.equal((await stage.respond(pending, ANSWER)).__typename, 'ResponseAccepted');
  assert.equal((await agent.outcome).status, 'ANSWERED');
  await until('the follower hears', () => followed.items.some((item) => item.message?.clarification?.state === 'TERMINAL'));
  followed.socket.terminate();
  assert.doesNotMatch(stage.log, /panicked/);
});

test('E-10: without another thread the server goes on', LIMIT, async (t) => {
  const stage = await Stage.open(t, { filter: 'info' });
  const session = await stage.session();
  const none = await failing(stage.pid, 'clone,clone3:error=EAGAIN');
  const asked = await Promise.all(Array.from({ length: 20 }, () => stage.ask(session, [TEXT])));
  for (const id of asked.slice(1)) assert.equal((await stage.skip(id)).__typename, 'ResponseAccepted');
  assert.equal((await stage.respond(asked[0], ANSWER)).__typename, 'ResponseAccepted');
  await none.end();
  assert.equal(stage.agent.prompts.length, 1);
  assert.doesNotMatch(stage.log, /panicked/);
});
