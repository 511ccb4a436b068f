// Readers that stop: fifty of them cost the server next to no memory, hold nobody up, and are sent away with a code
// on which clients come back. Times are told, not asserted.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import WebSocket from 'ws';

import { Process } from '../process.mjs';
import { follow } from './follow.mjs';

const STOPPED = 50;
const HEALTHY = 5;
const CHANGES_PER_SECOND = 200;
const GROWTH_MAX_MIB = 16;
const FOLLOW = 'subscription { taskChanges { cursor ... on TaskChanged { task { title description } } } }';
const RETRYABLE = [1006, 4499];

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Follows; `heard` is called with each title. Resolves when the snapshot is there. */
async function followed(server, heard) {
  const { socket, started, closed } = follow(server.address, FOLLOW, {
    hear: ({ data }) => data.taskChanges.task && heard(data.taskChanges.task.title),
  });
  await started;
  return { socket, closed };
}

test(`${STOPPED} stopped readers`, { timeout: 120_000 }, async () => {
  const server = await new Process({ ANSWERABLE_WS_WRITE_TIMEOUT_MS: '2000', ANSWERABLE_WS_CLOSE_MS: '60000', RUST_LOG: 'error' }).start();
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) / 1024;
  const { createTask } = await server.graphql('mutation { createTask(input: { title: "0" }) { ... on TaskPayload { taskId } } }');
  const sentAt = new Map();
  const waits = [];
  const heard = (title) => sentAt.has(title) && waits.push(Date.now() - sentAt.get(title));
  const healthy = await Promise.all(Array.from({ length: HEALTHY }, () => followed(server, heard)));
  const description = 'x'.repeat(8_000);
  let count = 0;
  const change = () => {
    count += 1;
    sentAt.set(`${count}`, Date.now());
    return server.graphql('mutation ($id: ID!, $title: String, $description: String) { updateTask(input: { taskId: $id, title: $title, description: $description }) { __typename } }', { id: createTask.taskId, title: `${count}`, description });
  };
  const changesFor = async (seconds) => {
    const under = [];
    const end = Date.now() + seconds * 1_000;
    for (let at = Date.now(); at < end; at += 1_000 / CHANGES_PER_SECOND) {
      await pause(at - Date.now());
      under.push(change());
    }
    await Promise.all(under);
    await pause(200);
    return waits.splice(0).sort((a, b) => a - b);
  };
  const median = (sorted) => sorted[Math.floor(sorted.length / 2)];

  const before = await changesFor(5);
  const base = resident();
  const stopped = await Promise.all(Array.from({ length: STOPPED }, () => followed(server, () => {})));
  stopped.forEach(({ socket }) => socket._socket.pause());
  const meanwhile = await changesFor(15);
  const growth = resident() - base;
  assert.ok(before.length && meanwhile.length, 'the healthy ones heard the changes');
  assert.ok(growth <= GROWTH_MAX_MIB, `the process grew by ${growth.toFixed(1)} MiB`);

  // Whoever reads again hears why it was sent away, and may come back.
  stopped.forEach(({ socket }) => socket._socket.resume());
  const codes = await Promise.all(stopped.map(({ closed }) => closed));
  assert.ok(codes.every((code) => RETRYABLE.includes(code)), `${[...new Set(codes)]}`);
  assert.ok(healthy.every(({ socket }) => socket.readyState === WebSocket.OPEN), 'the healthy ones are still there');
  console.log(`stopped=${STOPPED} growth_mib=${growth.toFixed(1)} median_ms=${median(before)} then ${median(meanwhile)} told_4499=${codes.filter((code) => code === 4499).length}`);
  await server.stop('SIGKILL');
});
