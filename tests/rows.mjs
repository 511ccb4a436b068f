// Runs what a table of rows names, where it stands, and says how many rows hold. A row holds when each of its tests ran
// and passed. Usage: node tests/rows.mjs tests/hostile
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const folder = process.argv[2];
const rows = readFileSync(join(folder, 'README.md'), 'utf8').split('\n').filter((line) => /^\| [A-Z]-\d/.test(line)).map(row);
const named = rows.flatMap(({ tests }) => tests);

function row(line) {
  const [id, , , shown] = line.split(/(?<!\\)\|/).map((cell) => cell.trim()).slice(1, 5);
  const tests = shown.split('<br>').map((text) => {
    const [, file, name] = /^`([^`]+)`(?:: (.+))?$/.exec(text);
    return { file, name };
  });
  return { id, tests };
}

/** What a command printed; it goes on whatever the exit code, as each test is looked for by itself. */
function run(command, ...args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (part) => (printed += part));
  return new Promise((resolve) => child.once('close', (code) => resolve({ printed, code })));
}

/** The target of a Rust test, by its file. */
const target = (file) => (file.startsWith('src/') ? ['--lib'] : ['--test', 'it']);
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** Lines that report what was measured. */
const told = (printed) => printed.split('\n').filter((line) => /^(# )?[\w :.-]+\b\w+=\S+/.test(line)).forEach((line) => console.log(line.replace(/^# /, '')));

/** The module path of a file's tests, as far as it is sure. */
const within = (file) => file.replace(/^(src|tests\/it)\//, '').replace(/(\/mod)?\.rs$/, '').replace(/_tests$/, '').replaceAll('/', '::');

/** Names of those that passed, of one Rust target. */
async function rust(args, tests) {
  const cargo = (...more) => run('cargo', 'test', '--quiet', '--locked', ...args, '--', ...more);
  const list = (await cargo('--list', '--format', 'terse')).printed.split('\n').map((line) => line.replace(/: test$/, ''));
  const exact = ({ file, name }) => list.filter((path) => path.startsWith(within(file)) && path.endsWith(`::${name}`));
  const wanted = [...new Set(tests.flatMap(exact))];
  const { printed } = await run('cargo', 'test', '--locked', ...args, '--', '--exact', '--show-output', ...wanted);
  told(printed);
  return tests.filter((test) => exact(test).length > 0 && exact(test).every((path) => printed.includes(`test ${path} ... ok`)));
}

/** Names of those that passed, of one file in JavaScript. */
async function script(file, tests) {
  const patterns = tests.map(({ name }) => `--test-name-pattern=/${escaped(name)}/`);
  const { printed } = await run('node', '--test', '--test-force-exit', '--test-reporter=tap', ...patterns, file);
  told(printed);
  const lines = printed.split('\n').map((line) => line.trim());
  const passed = ({ name }) => {
    const of = lines.filter((line) => /^(not )?ok \d+ - /.test(line) && line.includes(name) && !line.includes('# SKIP'));
    return of.length > 0 && of.every((line) => line.startsWith('ok'));
  };
  tests.filter((test) => !passed(test)).forEach(() => console.log(printed));
  return tests.filter(passed);
}

const groups = Map.groupBy?.bind(Map) ?? ((items, by) => items.reduce((map, item) => map.set(by(item), [...(map.get(by(item)) ?? []), item]), new Map()));
const isRust = ({ file }) => file.endsWith('.rs');
const passed = new Set();
for (const [args, tests] of groups(named.filter(isRust), ({ file }) => target(file).join(' '))) (await rust(args.split(' '), tests)).forEach((test) => passed.add(test));
for (const [file, tests] of groups(named.filter(({ file }) => file.endsWith('.mjs')), ({ file }) => file)) (await script(file, tests)).forEach((test) => passed.add(test));
for (const test of named.filter(({ file }) => file.endsWith('.sh'))) {
  const { printed, code } = await run(test.file);
  process.stdout.write(printed);
  if (code === 0) passed.add(test);
}

for (const { id, tests } of rows) {
  const missing = tests.filter((test) => !passed.has(test));
  console.log(missing.length ? `${id} FAILED: ${missing.map(({ file, name }) => `${file}: ${name ?? ''}`).join('; ')}` : `${id} holds, by ${tests.length}`);
}
const holding = rows.filter(({ tests }) => tests.every((test) => passed.has(test))).length;
console.log(`${basename(folder)}: ${holding}/${rows.length}`);
process.exitCode = holding === rows.length ? 0 : 1;
