// Other people's checks of an MCP server: conformance scenarios and the inspector's strict schema check.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';

import { Server } from './server.mjs';

const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

const modules = `${new URL('.', import.meta.url).pathname}peers/node_modules`;

/** Runs a package's program under this Node; resolves with its exit code and all that it wrote. */
function run(name, args) {
  return new Promise((resolve) => {
    const done = (error, stdout, stderr) => resolve({ code: error ? (error.code ?? 1) : 0, stdout, stderr });
    execFile(process.execPath, [`${modules}/.bin/${name}`, ...args], { cwd: tmpdir(), timeout: 60_000 }, done);
  });
}

// The scenarios send no token, so they come before any exists.
const server = await new Server().start();
for (const scenario of SCENARIOS) {
  const { code, stdout, stderr } = await run('conformance', ['server', '--url', server.url, '--scenario', scenario]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /Passed: (\d+)\/\1, 0 failed, 0 warnings/);
  console.log(`ok   conformance ${scenario}`);
}

const { agents, person } = await server.seed(1);
for (const [role, token] of [['agent', agents[0]], ['person', person]]) {
  const args = ['--cli', server.url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
  const { code, stdout, stderr } = await run('inspector', [...args, '--method', 'tools/list', '--strict']);
  assert.deepEqual([code, stderr.trim()], [0, ''], 'a schema is not portable');
  assert.equal(JSON.parse(stdout).tools.length, 3);
  console.log(`ok   inspector --strict, tools of an ${role}`);
}
await server.stop('SIGTERM');
