// Real MCP clients, both protocol eras, against the real server: what an agent gets, and what a lost call leaves.
// Usage: node matrix.mjs [part of a case's name]. Prints one line per case and exits 1 if one fails.
import assert from 'node:assert/strict';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { Agent, PEERS, QUESTIONS } from './agents.mjs';
import { Server, tool } from './server.mjs';

/** From the loss of a call to its durable detachment: no setting is part of it, all of it is margin. */
const DETACH_BOUND_MS = 1_000;
const CASES_AT_ONCE = 3;

const ANSWER = [{ selected: ['Red', 'Blue'], text: 'and "Ümlaut" 🎈' }];
const TOLD = { q1: { selected: ['Red', 'Blue'], text: 'and "Ümlaut" 🎈' } };

/** Passes TCP on to the server, and can cut all connections. */
class Proxy {
  #sockets = new Set();

  static async before(server) {
    const proxy = new Proxy();
    const { port } = new URL(server.url);
    proxy.listener = net.createServer((client) => {
      const upstream = net.connect(Number(port), '127.0.0.1');
      for (const socket of [client, upstream]) {
        proxy.#sockets.add(socket);
        socket.on('error', () => {});
      }
      client.pipe(upstream).pipe(client);
    });
    await new Promise((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve));
    proxy.url = `http://127.0.0.1:${proxy.listener.address().port}/mcp`;
    return proxy;
  }

  cut() {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  close() {
    this.listener.close();
    this.cut();
  }
}

/** One session of the server, with its agent's and its person's view. */
class Scene {
  agents = [];

  constructor(server, peer, session, person) {
    Object.assign(this, { server, peer, session, person });
  }

  agent(script = {}, peer = this.peer) {
    const agent = new Agent(peer, { url: this.server.url, token: this.session, ...script });
    this.agents.push(agent);
    return agent;
  }

  async bundles() {
    return (await tool(this.server, this.session, 'list_my_questions', {})).bundles;
  }

  async until(what, is, withinMs) {
    const begin = Date.now();
    for (;;) {
      const bundles = await this.bundles();
      const waited = Date.now() - begin;
      if (is(bundles)) return { bundles, waited };
      if (waited > withinMs) throw new Error(`${what}: not within ${withinMs} ms: ${JSON.stringify(bundles)}`);
      await sleep(25);
    }
  }

  /** The one bundle, once somebody waits for it. */
  async live() {
    const { bundles } = await this.until('live', (all) => all.length === 1 && all[0].someoneWaits, 20_000);
    return bundles[0].pendingId;
  }

  /** Nobody waits any more, and the question stays open. Returns how long that took. */
  async detached() {
    const { bundles, waited } = await this.until('detached', (all) => !all[0].someoneWaits, 10 * DETACH_BOUND_MS);
    assert.equal(bundles[0].status, 'pending');
    assert.ok(waited <= DETACH_BOUND_MS, `detached after ${waited} ms, not within ${DETACH_BOUND_MS} ms`);
    return `detached after ${waited} ms`;
  }

  async answer(pendingId) {
    const told = await tool(this.server, this.person, 'answer_question', { pendingId, answers: ANSWER });
    assert.equal(told.status, 'answered', JSON.stringify(told));
  }

  end() {
    for (const agent of this.agents) agent.kill();
  }
}

const CASES = {
  async 'an answer reaches the blocked call, whole'(scene) {
    const agent = scene.agent();
    const pendingId = await scene.live();
    await sleep(1_500);
    await scene.answer(pendingId);
    const told = await agent.result();
    assert.deepEqual(told, { status: 'answered', pendingId, turnId: told.turnId, answers: TOLD });
  },
  async 'a skip is no error and says why'(scene) {
    const agent = scene.agent({ progress: true });
    const pendingId = await scene.live();
    await agent.next('progress');
    await tool(scene.server, scene.person, 'skip_question', { pendingId, reason: 'not now' });
    const told = await agent.result();
    assert.deepEqual([told.status, told.rejectReason, told.answers], ['rejected', 'not now', {}]);
  },
  async 'a cancelled call detaches'(scene) {
    const agent = scene.agent({ cancelAfterMs: 1_500, progress: true, stay: true });
    await scene.live();
    await agent.next('error');
    return scene.detached();
  },
  async 'a killed client detaches'(scene) {
    const agent = scene.agent({ progress: true });
    await scene.live();
    agent.kill();
    return scene.detached();
  },
  async 'a killed client without a progress token detaches'(scene) {
    const agent = scene.agent();
    await scene.live();
    agent.kill();
    return scene.detached();
  },
  async "a client's own timeout detaches while it lives on"(scene) {
    const agent = scene.agent({ timeoutMs: 1_500, stay: true });
    await scene.live();
    await agent.next('error');
    return scene.detached();
  },
  async "a client's own timeout detaches when it exits at once"(scene) {
    const agent = scene.agent({ timeoutMs: 1_500 });
    await scene.live();
    await agent.next('error');
    return scene.detached();
  },
  async 'a client that closes while its call runs detaches'(scene) {
    scene.agent({ closeAfterMs: 1_500, stay: true });
    await scene.live();
    await sleep(1_500);
    return scene.detached();
  },
  async 'a cut connection detaches, and a client that resumes its stream learns that the question is open'(scene) {
    const proxy = await Proxy.before(scene.server);
    const agent = scene.agent({ url: proxy.url });
    const pendingId = await scene.live();
    await sleep(500);
    proxy.cut();
    const note = await scene.detached();
    if (scene.peer.era === 'modern') await agent.next('error'); // this era cannot resume
    else assert.deepEqual([(await agent.result()).status, pendingId], ['pending', pendingId]);
    proxy.close();
    return note;
  },
  async 'the soft deadline ends the call with pending and detaches'(scene) {
    const agent = scene.agent({ args: { questions: QUESTIONS, maxWaitSeconds: 1 } });
    const told = await agent.result();
    assert.equal(told.status, 'pending');
    assert.match(told.next, new RegExp(`await_user_answer with pendingId ${told.pendingId}`));
    return scene.detached();
  },
  async 'equal questions after a loss re-attach to the same bundle'(scene) {
    const lost = scene.agent();
    const pendingId = await scene.live();
    lost.kill();
    await scene.detached();
    const again = scene.agent();
    assert.equal(await scene.live(), pendingId);
    await scene.answer(pendingId);
    assert.deepEqual((await again.result()).answers, TOLD);
  },
  async 'equal questions after a received answer are new questions'(scene) {
    const agent = scene.agent();
    const pendingId = await scene.live();
    await scene.answer(pendingId);
    await agent.result();
    const again = await scene.agent({ args: { questions: QUESTIONS, maxWaitSeconds: 0 } }).result();
    assert.equal(again.status, 'pending');
    assert.notEqual(again.pendingId, pendingId);
  },
  async 'awaiting a detached bundle re-attaches, and a recorded answer is there at once'(scene) {
    const pending = await scene.agent({ args: { questions: QUESTIONS, maxWaitSeconds: 0 } }).result();
    const args = { pendingId: pending.pendingId };
    const waiting = scene.agent({ name: 'await_user_answer', args });
    assert.equal(await scene.live(), pending.pendingId);
    await scene.answer(pending.pendingId);
    assert.deepEqual((await waiting.result()).answers, TOLD);
    const recorded = await scene.agent({ name: 'await_user_answer', args }).result();
    assert.deepEqual([recorded.status, recorded.answers], ['answered', TOLD]);
  },
  async 'a bad bundle is refused by field and limit, and asks nothing'(scene) {
    const options = Array.from({ length: 7 }, (_, n) => ({ label: `option ${n}` }));
    const agent = scene.agent({ args: { questions: [{ question: 'Which?', options }] } });
    const result = await agent.next('result');
    assert.equal(result.isError, true);
    const [field] = JSON.parse(result.content[0].text).error.fields;
    assert.deepEqual([field.path, field.code, field.limit], ['questions[0].options', 'TOO_MANY', 6]);
    assert.deepEqual(await scene.bundles(), []);
  },
};

/** Cases that end the server; each runs alone. */
const ENDINGS = {
  async 'SIGTERM ends the live call with pending before its socket closes'(scene) {
    const agent = scene.agent({ progress: true });
    await scene.live();
    const code = await scene.server.stop('SIGTERM');
    assert.equal(code, 0);
    assert.equal((await agent.result()).status, 'pending');
    await scene.server.start();
  },
  async 'a server killed midway: asking again re-attaches, and later returns the recorded answer'(scene) {
    const args = { questions: QUESTIONS, requestKey: 'one' };
    scene.agent({ args });
    const pendingId = await scene.live();
    await scene.server.stop('SIGKILL');
    await scene.server.start();
    const [left] = await scene.bundles();
    assert.deepEqual([left.pendingId, left.someoneWaits, left.status], [pendingId, false, 'pending']);
    const again = scene.agent({ args });
    assert.equal(await scene.live(), pendingId);
    await scene.answer(pendingId);
    assert.deepEqual((await again.result()).answers, TOLD);
    await scene.server.stop('SIGKILL');
    await scene.server.start();
    const recorded = await scene.agent({ args }).result();
    assert.deepEqual([recorded.status, recorded.pendingId, recorded.answers], ['answered', pendingId, TOLD]);
  },
};

function jobs(cases, wanted) {
  const all = Object.entries(cases).flatMap(([name, run]) => PEERS.map((peer) => ({ name: `${name} [${peer.name}]`, run, peer })));
  return all.filter((job) => job.name.includes(wanted));
}

async function attempt(job, server, tokens) {
  const scene = new Scene(server, job.peer, tokens.agents.pop(), tokens.person);
  try {
    const note = await job.run(scene);
    console.log(`ok   ${job.name}${note ? `: ${note}` : ''}`);
    return true;
  } catch (error) {
    console.log(`FAIL ${job.name}\n     ${error.stack ?? error}`);
    return false;
  } finally {
    scene.end();
  }
}

async function lane(queue, server, tokens) {
  let good = true;
  for (let job = queue.shift(); job; job = queue.shift()) good = (await attempt(job, server, tokens)) && good;
  return good;
}

const wanted = process.argv[2] ?? '';
const [together, alone] = [jobs(CASES, wanted), jobs(ENDINGS, wanted)];
const server = await new Server().start();
const tokens = await server.seed(together.length + alone.length);
const lanes = Array.from({ length: CASES_AT_ONCE }, () => lane(together, server, tokens));
const outcomes = await Promise.all(lanes);
outcomes.push(await lane(alone, server, tokens));
await server.stop('SIGTERM');
process.exit(outcomes.every(Boolean) ? 0 : 1);
