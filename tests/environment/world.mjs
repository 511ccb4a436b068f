// Faults of the world around a server: what the kernel answers to its calls, and what it may have.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { BINARY, Process } from '../process.mjs';

/** Lets the calls of a process fail so, such as `pwrite64:error=ENOSPC`, until `end`. `path`: only those on that file. */
export async function failing(pid, calls, path) {
  const only = path ? ['-P', path] : [];
  const tracer = spawn('strace', ['-f', '-q', '-e', 'signal=none', '-e', `trace=${calls.split(':')[0]}`, '-e', `inject=${calls}`, ...only, '-o', '/dev/null', '-p', `${pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => tracer.once('exit', resolve));
  const threads = () => execFileSync('sh', ['-c', `grep -h TracerPid /proc/${pid}/task/*/status`], { encoding: 'utf8' }).trim().split('\n');
  while (!threads().every((line) => line.endsWith(`\t${tracer.pid}`))) {
    assert.equal(tracer.exitCode, null, 'the tracer runs');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    end: async () => {
      tracer.kill('SIGINT');
      await ended;
    },
  };
}

/** What a start on that database says, and its exit code; a server that runs is a failure. */
export async function refusedStart(database, prefix = []) {
  const [command, ...args] = [...prefix, BINARY, 'serve', '--listen', '127.0.0.1:0', '--database', `sqlite:${database}`];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = [];
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stderr.setEncoding('utf8').on('data', (part) => lines.push(part));
  for await (const line of createInterface({ input: child.stdout })) {
    child.kill('SIGKILL');
    assert.fail(`it started: ${line}`);
  }
  return { code: await ended, said: lines.join('') };
}

/** The lines of `answerable check`, and its exit code. */
export function check(database) {
  try {
    return { code: 0, said: execFileSync(BINARY, ['check', '--database', `sqlite:${database}`], { encoding: 'utf8', stdio: 'pipe' }) };
  } catch ({ status, stdout, stderr }) {
    return { code: status, said: stdout + stderr };
  }
}

/** Ticks of processor time that a process took. */
export function ticks(pid) {
  const fields = execFileSync('cat', [`/proc/${pid}/stat`], { encoding: 'utf8' }).split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

export { Process };
