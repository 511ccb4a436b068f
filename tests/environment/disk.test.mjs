// The disk under the database is full, fails or goes away: E-01, E-02, E-03. What the kernel answers is made up by a
// tracer; the server and its file are real.
import assert from 'node:assert/strict';
import { existsSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { Stage, TEXT, until } from '../field/stage.mjs';
import { check, failing, refusedStart } from './world.mjs';

const LIMIT = { timeout: 120_000 };
const ANSWER = [{ questionId: 'q1', customText: 'Mind the dog' }];

const ready = async (stage) => (await fetch(`http://${stage.address}/readyz`).catch(() => ({}))).status;

/** The code and retryability of an operation that fails as a whole, or that of its member. */
async function fault(promise) {
  try {
    const result = await promise;
    return { code: result.code ?? result.__typename, retryable: result.retryable };
  } catch (error) {
    const [{ extensions }] = JSON.parse(error.message);
    return extensions;
  }
}

test('E-01: on a full disk every write is refused to be made again, reads go on, and space is all that is needed', LIMIT, async (t) => {
  const stage = await Stage.open(t);
  const session = await stage.session();
  const [live, detached] = [await stage.ask(session, [TEXT]), await stage.ask(session, [TEXT])];
  const agent = await stage.live(live);
  const full = await failing(stage.pid, 'pwrite64,ftruncate,fallocate:error=ENOSPC', `${stage.database}-wal`);
  const refused = await Promise.all([
    fault(stage.respond(live, ANSWER)), fault(stage.respond(detached, ANSWER)), fault(stage.skip(detached)),
    fault(stage.ask(session, [TEXT])), fault(stage.prompt(session, 'go on')), fault(stage.task()),
  ]);
  assert.deepEqual(refused.map(({ retryable }) => retryable), Array(refused.length).fill(true), JSON.stringify(refused));
  assert.deepEqual(stage.agent.prompts, [], 'without a marker nothing is dispatched');
  const states = await Promise.all([live, detached].map(async (id) => (await stage.bundle(id)).state));
  assert.deepEqual(states, ['ACTIVE_LIVE', 'ACTIVE_DETACHED'], 'reads go on, and nothing is half done');
  await full.end();
  assert.equal((await stage.respond(live, ANSWER)).__typename, 'ResponseAccepted');
  assert.equal((await agent.outcome).status, 'ANSWERED');
  assert.equal((await stage.respond(detached, ANSWER)).__typename, 'ResponseAccepted');
  assert.equal(stage.agent.prompts.length, 1);
});

test('E-02: after a sync that failed a commit is unknown, the server ends with a code, and the next start decides', LIMIT, async (t) => {
  const stage = await Stage.open(t, { filter: 'info' });
  const pending = await stage.ask(await stage.session(), [TEXT]);
  await until('nothing is written any more', () => Date.now() - statSync(`${stage.database}-wal`).mtimeMs > 500);
  const broken = await failing(stage.pid, 'fdatasync,fsync:error=EIO', `${stage.database}-wal`);
  const ended = stage.ended();
  const told = await fault(stage.respond(pending, ANSWER));
  assert.deepEqual([told.code, told.retryable], ['TIMEOUT', true], 'it may have happened');
  assert.equal(await ended, 1);
  await broken.end();
  assert.match(stage.log, /lost to its file system/);
  assert.deepEqual(stage.agent.prompts, [], 'what is not known to be durable is not acted upon');
  assert.match(check(stage.database).said, /violations=0/);
  await stage.up();
  const again = await stage.respond(pending, ANSWER);
  assert.equal(again.__typename, 'ResponseAccepted', JSON.stringify(again));
  assert.equal(stage.agent.prompts.length, 1);
  assert.equal((await stage.bundle(pending)).response.status, 'ANSWERED');
});

for (const [what, take] of Object.entries({
  'the file': ({ database }) => renameSync(database, `${database}.away`),
  'its log': ({ database }) => renameSync(`${database}-wal`, `${database}-wal.away`),
  'its folder': ({ database }) => renameSync(dirname(database), `${dirname(database)}.away`),
})) {
  test(`E-03: ${what} is taken away from a running server, which refuses every write and ends`, LIMIT, async (t) => {
    const stage = await Stage.open({ after: () => {} });
    t.after(() => stage.stop('SIGKILL'));
    t.after(() => stage.agent.end());
    const session = await stage.session();
    const ended = stage.ended();
    take(stage);
    const { code } = await fault(stage.ask(session, [TEXT])).catch(() => ({ code: 'gone' }));
    assert.ok(['UNAVAILABLE', 'SHUTTING_DOWN', 'gone'].includes(code), code);
    assert.notEqual(await ready(stage), 204);
    assert.equal(await ended, 1);
    assert.ok(!existsSync(stage.database) || what === 'its log', 'it made no new one');
  });
}

test('E-03: a start says why it cannot have its file, and makes none elsewhere', LIMIT, async (t) => {
  const stage = await Stage.open(t);
  await stage.session();
  await stage.stop('SIGTERM');
  const { database } = stage;
  const folder = dirname(database);
  const denied = (error) => ['strace', '-f', '-qq', '-e', 'trace=openat', '-e', `inject=openat:error=${error}`, '-P', database, '-o', '/dev/null'];
  for (const [path, prefix] of [[database, denied('EACCES')], [database, denied('EROFS')], [join(folder, 'none', 'x.db'), []], [folder, []]]) {
    const { code, said } = await refusedStart(path, prefix);
    assert.equal(code, 1, said);
    assert.match(said, /cannot open the store/);
  }
  assert.ok(!existsSync(join(folder, 'none')));
});
