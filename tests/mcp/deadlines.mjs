// When the server ends a blocked call by itself, with the settings scaled down: silent clients early, clients that
// hear progress late, clients known to ignore progress early all the same.
import assert from 'node:assert/strict';

import { Agent, PEERS } from './agents.mjs';
import { Server, tool } from './server.mjs';

const PERIODS = 3;
const env = { ANSWERABLE_SILENT_DEADLINE_MS: '1000', ANSWERABLE_PROGRESS_PERIOD_MS: '500' };

const server = await new Server(env).start();
const { agents, person } = await server.seed(3 * PEERS.length);

async function check(name, peer, run) {
  const agent = new Agent(peer, { url: server.url, token: agents.pop(), ...run.script });
  try {
    await run.outcome(agent);
    console.log(`ok   ${name} [${peer.name}]`);
  } finally {
    agent.kill();
  }
}

const silent = {
  script: {},
  outcome: async (agent) => assert.equal((await agent.result()).status, 'pending'),
};

const heard = {
  script: { progress: true },
  async outcome(agent) {
    while (agent.events.filter((one) => one.event === 'progress').length < PERIODS) await agent.more();
    assert.ok(!agent.events.some((one) => one.event === 'result'), 'the silent deadline ended it');
    const [{ pendingId }] = (await tool(server, person, 'list_pending_questions', {})).bundles.slice(-1);
    await tool(server, person, 'skip_question', { pendingId });
    assert.equal((await agent.result()).status, 'rejected');
  },
};

const deaf = {
  script: { progress: true, headers: { 'User-Agent': 'codex-mcp-client/0.171.0' } },
  outcome: async (agent) => assert.equal((await agent.result()).status, 'pending'),
};

for (const peer of PEERS) {
  await check('a client that hears no progress gets pending early', peer, silent);
  await check('a client that hears progress waits on, and hears it in every period', peer, heard);
  // The bridge has a user agent of its own.
  if (!peer.bridge) await check('a client that ignores progress gets pending early', peer, deaf);
}
assert.equal(await server.stop('SIGTERM'), 0);
