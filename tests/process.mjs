// The server under test as a process of its own, for every suite that is written in JavaScript.
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const BINARY = process.env.ANSWERABLE_BIN ?? 'target/debug/answerable';

const running = new Set();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL'))); // a failed test leaves no server behind

export class Process {
  #child;
  #env;
  #address = '127.0.0.1:0';
  database = join(mkdtempSync(join(tmpdir(), 'answerable-')), 'answerable.db');

  /** What the server logged, if it is kept; else it goes where everything goes. */
  log = '';

  /** `env`: settings that differ from the usual ones. `keepsLog`: what is logged is not shown but kept. */
  constructor(env = {}, { keepsLog = false } = {}) {
    this.#env = { ...process.env, ...env };
    this.keepsLog = keepsLog;
  }

  /** Host and port, the same after a restart. */
  get address() {
    return this.#address;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Resolves when the port is open. A second start uses the same address and database. */
  async start(...flags) {
    const args = ['serve', '--listen', this.#address, '--database', `sqlite:${this.database}`, ...flags];
    const child = spawn(BINARY, args, { env: this.#env, stdio: ['ignore', 'pipe', this.keepsLog ? 'pipe' : 'inherit'] });
    child.stderr?.setEncoding('utf8').on('data', (part) => (this.log += part));
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    for await (const line of createInterface({ input: child.stdout })) {
      const address = /http:\/\/([\d.]+:\d+)/.exec(line)?.[1];
      if (address) {
        this.#address = address;
        child.stdout.resume();
        return this;
      }
    }
    throw new Error('the server ended before it listened');
  }

  /** The exit code of the process, when it ends by itself. */
  ended() {
    return new Promise((resolve) => this.#child.once('exit', resolve));
  }

  /** Ends the process, if it has not ended, and waits for its end. */
  async stop(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const ended = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)));
    this.#child.kill(signal);
    return ended;
  }

  /** The response to an operation; `signal` hangs up. */
  post(query, variables, { token, signal } = {}) {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const body = JSON.stringify({ query, variables });
    return fetch(`http://${this.#address}/graphql`, { method: 'POST', headers, body, signal });
  }

  /** The data of an operation; errors are thrown. */
  async graphql(query, variables, token) {
    const response = await this.post(query, variables, { token });
    const { data, errors } = await response.json();
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  }
}
