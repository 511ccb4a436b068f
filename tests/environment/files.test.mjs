// The file under the database is not what it should be: E-04, and E-12 where it is newer than the program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { test } from 'node:test';

import { Stage, TEXT } from '../field/stage.mjs';
import { check, refusedStart } from './world.mjs';

const LIMIT = { timeout: 120_000 };
const PAGE = 4_096;
const QUESTIONS = 40;

/** A file with some questions in it, left in order. */
async function left(t) {
  const stage = await Stage.open(t);
  const session = await stage.session();
  const pending = [];
  for (let n = 0; n < QUESTIONS; n += 1) pending.push(await stage.ask(session, [{ prompt: 'x'.repeat(500) }]));
  await stage.stop('SIGTERM');
  copyFileSync(stage.database, `${stage.database}.whole`);
  return { stage, session, pending };
}

/** A copy of the file, damaged. */
function damaged(stage, damage) {
  const copy = `${stage.database}.damaged`;
  copyFileSync(`${stage.database}.whole`, copy);
  damage(copy);
  return copy;
}

const bytes = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** No start, in words that name the file, and not a byte of it changed. */
async function refusesIt(path, words) {
  const before = bytes(path);
  const { code, said } = await refusedStart(path);
  assert.equal(code, 1, said);
  assert.match(said, words);
  assert.doesNotMatch(said, /panicked/);
  assert.ok(said.includes(path), `it names the file: ${said}`);
  assert.equal(bytes(path), before, 'it changed nothing');
}

test('E-04: a file that is cut off, foreign or no database is refused by name and not written to', LIMIT, async (t) => {
  const { stage } = await left(t);
  const size = statSync(stage.database).size;
  const cut = (length) => damaged(stage, (path) => truncateSync(path, length));
  await refusesIt(cut(Math.floor(size / PAGE / 2) * PAGE), /cut off|damaged/);
  await refusesIt(cut(size - PAGE), /cut off|damaged/);
  await refusesIt(cut(100), /cut off|damaged|no SQLite/);
  await refusesIt(damaged(stage, (path) => writeFileSync(path, 'Dear diary,\n'.repeat(1_000))), /no SQLite file/);
  const foreign = damaged(stage, (path) => {
    rmSync(path);
    execFileSync('python3', ['-c', 'import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\nc.execute("CREATE TABLE diary(day)")\nc.commit()', path]);
  });
  await refusesIt(foreign, /not a database of Answerable/);
});

test('E-04: pages that are overwritten are reported by the check and never rewritten', LIMIT, async (t) => {
  const { stage } = await left(t);
  const pages = Math.floor(statSync(stage.database).size / PAGE);
  let found = 0;
  for (let page = 1; page < pages; page += Math.ceil(pages / 12)) {
    const path = damaged(stage, (file) => writeSync(openSync(file, 'r+'), Buffer.alloc(PAGE, 0xa5), 0, PAGE, page * PAGE));
    const before = bytes(path);
    const { code, said } = check(path);
    assert.doesNotMatch(said, /panicked/);
    assert.equal(bytes(path), before);
    if (code !== 0) found += 1;
  }
  assert.ok(found > 0, 'damage is found');
});

test('E-04: a log that is lost takes what stood in it, and nothing by half', LIMIT, async (t) => {
  const stage = await Stage.open(t);
  const session = await stage.session();
  await stage.restart('SIGTERM'); // what came before is in the file
  const pending = await stage.ask(session, [TEXT]);
  await stage.stop('SIGKILL');
  rmSync(`${stage.database}-wal`);
  rmSync(`${stage.database}-shm`, { force: true });
  assert.match(check(stage.database).said, /violations=0/);
  await stage.up();
  assert.equal(await stage.bundle(pending), null);
  assert.equal((await stage.view(session)).state, 'RUNNING');
  assert.ok(await stage.ask(session, [TEXT]));
});

test('E-12: a file of a newer program is refused in words, and that program finds it unchanged', LIMIT, async (t) => {
  const { stage, pending } = await left(t);
  stage.sql("INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')");
  const newer = `${stage.database}`;
  stage.sql('PRAGMA wal_checkpoint(TRUNCATE)');
  await refusesIt(newer, /newer program/);
  const { code, said } = check(newer);
  assert.equal(code, 1);
  assert.match(said, /newer program/);
  stage.sql("DELETE FROM __diesel_schema_migrations WHERE version = '99990101000000'");
  await stage.up();
  for (const id of pending) assert.equal((await stage.bundle(id)).state, 'ACTIVE_DETACHED');
});
