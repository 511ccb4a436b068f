// The clients under test, each a process that makes one tool call and reports what comes of it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { BINARY } from './server.mjs';

const here = new URL('.', import.meta.url).pathname;
const node = [process.execPath];
export const PEERS = [
  { name: 'typescript 1.x, legacy', run: [...node, `${here}peers/sdk1.mjs`], era: 'legacy' },
  { name: 'typescript 2.x, legacy', run: [...node, `${here}peers/sdk2.mjs`], era: 'legacy' },
  { name: 'typescript 2.x, modern', run: [...node, `${here}peers/sdk2.mjs`], era: 'modern' },
  { name: 'typescript 2.x over stdio, legacy', run: [...node, `${here}peers/sdk2.mjs`], era: 'legacy', bridge: BINARY },
  { name: 'typescript 2.x over stdio, modern', run: [...node, `${here}peers/sdk2.mjs`], era: 'modern', bridge: BINARY },
  { name: 'python, legacy', run: [`${here}peers/.venv/bin/python`, `${here}peers/python.py`], era: 'legacy' },
  { name: 'python, modern', run: [`${here}peers/.venv/bin/python`, `${here}peers/python.py`], era: 'modern' },
];

/** What they ask, if nothing else is said. */
export const QUESTIONS = [
  {
    question: 'Which colours?',
    header: 'Colours',
    options: [{ label: 'Red', description: 'warm' }, { label: 'Green' }, { label: 'Blue' }],
    multiSelect: true,
  },
];
/** A running client that makes one call. */
export class Agent {
  events = [];
  #wake = () => {};

  constructor(peer, script) {
    const [command, ...args] = peer.run;
    const told = JSON.stringify({ era: peer.era, bridge: peer.bridge, name: 'ask_user_question', args: { questions: QUESTIONS }, ...script });
    this.child = spawn(command, [...args, told], { stdio: ['ignore', 'pipe', process.env.VERBOSE ? 'inherit' : 'ignore'] });
    this.child.on('exit', () => this.#push({ event: 'exit' }));
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#push(JSON.parse(line)));
  }

  #push(event) {
    if (process.env.VERBOSE) console.error(this.child.pid, JSON.stringify(event));
    this.events.push(event);
    this.#wake();
  }

  /** The first event of that kind, come or to come. */
  async next(kind, withinMs = 30_000) {
    const deadline = Date.now() + withinMs;
    for (;;) {
      const found = this.events.find((one) => one.event === kind);
      if (found) return found;
      if (this.events.some((one) => one.event === 'exit')) throw new Error(`no ${kind}: ${JSON.stringify(this.events)}`);
      if (Date.now() > deadline) throw new Error(`no ${kind} in time: ${JSON.stringify(this.events)}`);
      await Promise.race([new Promise((resolve) => (this.#wake = resolve)), sleep(200)]);
    }
  }

  /** Waits for another event. */
  async more() {
    if (this.events.some((one) => one.event === 'exit')) throw new Error(`it ended: ${JSON.stringify(this.events)}`);
    await new Promise((resolve) => (this.#wake = resolve));
  }

  async result(withinMs) {
    const result = await this.next('result', withinMs);
    assert.equal(result.isError, false);
    assert.equal(result.content.length, 1);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structured, 'the text is the structured content');
    return result.structured;
  }

  kill() {
    this.child.kill('SIGKILL');
  }
}
