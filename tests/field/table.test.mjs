// The table in README.md says the truth: each probe is there, each test that it names exists. The last line has the
// numbers.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const here = new URL('.', import.meta.url);
const root = new URL('../../', here);
const text = (url) => readFileSync(url, 'utf8');
const rows = text(new URL('README.md', here)).split('\n').filter((line) => /^\| [A-Z]\d/.test(line)).map((line) => line.split('|').map((cell) => cell.trim()).slice(1, 4));
const suites = readdirSync(here).filter((name) => name.endsWith('.test.mjs')).map((name) => text(new URL(name, here))).join('\n');
const probes = new Set([...suites.matchAll(/(?:probe\([`']|\[')([A-Z]\d+)\b/g)].map((found) => found[1]));

test('each row of the table is shown', () => {
  const named = new Set();
  for (const [id, , shown] of rows) {
    const [, other] = /^probe ([A-Z]\d+)$/.exec(shown) ?? [];
    const [, file, name] = /^`([^`]+)`: (.+)$/.exec(shown) ?? [];
    if (shown === 'probe' || other) {
      assert.ok(probes.has(other ?? id), `${id}: no probe`);
      named.add(other ?? id);
    } else if (file) assert.ok(text(new URL(file, root)).includes(name), `${id}: ${file} has no ${name}`);
  }
  assert.deepEqual([...probes].filter((id) => !named.has(id)), [], 'probes that the table does not have');
});
