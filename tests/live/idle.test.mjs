// Idle subscriptions: what each costs the server, and that one change reaches them all. IDLE says how many.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Process } from '../process.mjs';
import { follow } from './follow.mjs';

const IDLE = Number(process.env.IDLE ?? 2_000);
const EACH_MAX_KIB = 20;
const AT_ONCE = 100;
const FOLLOW = 'subscription { taskChanges { cursor ... on TaskChanged { task { id title } } } }';

test(`${IDLE} idle subscriptions`, { timeout: 300_000 }, async () => {
  const server = await new Process({ RUST_LOG: 'error' }).start();
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]);
  const create = () => server.graphql('mutation { createTask(input: { title: "x" }) { __typename } }');
  await create();
  const base = resident();
  let allHeard = () => {};
  let count = 0;
  const hear = () => {
    count += 1;
    if (count === 2 * IDLE) allHeard(); // the snapshot of each, and the change
  };
  for (let n = 0; n < IDLE; n += AT_ONCE) await Promise.all(Array.from({ length: Math.min(AT_ONCE, IDLE - n) }, () => follow(server.address, FOLLOW, { hear }).started));
  const each = (resident() - base) / IDLE;
  const reached = new Promise((resolve) => (allHeard = resolve));
  const start = Date.now();
  await create();
  await reached;
  console.log(`idle=${IDLE} kib_each=${each.toFixed(1)} one_change_to_all_ms=${Date.now() - start}`);
  assert.ok(each <= EACH_MAX_KIB, `each costs ${each.toFixed(1)} KiB`);
  await server.stop('SIGKILL');
});
