// What a probe stands on: a real server on a file of its own, an agent platform that is called by webhook and counts,
// and the words of the table in README.md as functions.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { test } from 'node:test';

import { follow } from '../live/follow.mjs';
import { BINARY, Process } from '../process.mjs';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OUTCOME = '__typename ... on ClarificationOutcome { status pendingId isNew rejectReason answers { questionId selected text } } ... on Refused { refusal retryable } ... on InvalidInput { errors { path code } }';
const RESULT = `__typename ... on ResponseAccepted { replayed clarification { state outcome } dispatchedTurn { id } }
  ... on ResponseConflict { reason winner { status respondedBy } clarification { outcome } } ... on DeliveryFailed { code retryable }
  ... on InvalidResponse { errors { path code limit message } } ... on Refused { refusal retryable }`;
const BUNDLE = '{ pendingId state outcome agentDisconnected canRespond canSkip context dispatchOutcome response { status rejectReason respondedBy } questions { id messageId status prompt options { id label } answer { optionIds customText } } }';
const PROJECTION = '{ action revision { epoch sequence } }';
const SESSION = `{ id state workflowMayAdvance projection ${PROJECTION} currentTurn { id } activeClarification { pendingId } turns(first: 50) { edges { node { id end dispatchOutcome } } } }`;
const CHANGE = `{ __typename cursor ... on SessionSnapshot { projection ${PROJECTION} session { activeClarification { pendingId } } }
  ... on MessageAdded { message { id clarification { pendingId state } } projection ${PROJECTION} }
  ... on MessageUpdated { message { id clarification { pendingId state outcome } } projection ${PROJECTION} }
  ... on MessageDeleted { messageId projection ${PROJECTION} } ... on TurnStarted { turn { id } projection ${PROJECTION} }
  ... on TurnCompleted { turn { id } projection ${PROJECTION} } ... on SessionStateChanged { projection ${PROJECTION} }
  ... on ProjectionChanged { projection ${PROJECTION} } ... on Gap { reason } }`;

export const CHOICE = { prompt: 'Which colour?', allowCustomText: false, options: [{ label: 'White' }, { label: 'Green' }] };
export const TEXT = { prompt: 'What should the sign say?' };
export const WHITE = [{ questionId: 'q1', optionIds: ['q1_opt1'] }];

/** MiB that a process holds. */
export const memory = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The value of `look` as soon as it is not falsy. */
export async function until(what, look, within = 10_000) {
  for (const end = Date.now() + within; Date.now() < end; await pause(10)) {
    const seen = await look();
    if (seen) return seen;
  }
  return assert.fail(`not within ${within} ms: ${what}`);
}

/** An agent platform: takes what its script says, a status or 'hang' or 'drop', and accepts where it says nothing. */
class Agent {
  prompts = [];
  #held = [];

  constructor(script) {
    this.script = [...script];
    this.http = createServer((request, response) => this.#take(request, response));
  }

  async #take(request, response) {
    let body = '';
    for await (const part of request) body += part;
    if (request.method === 'DELETE') return response.writeHead(404).end();
    this.prompts.push(JSON.parse(body));
    const step = this.script.shift() ?? 202;
    if (step === 'hang') return this.#held.push(response);
    if (step === 'drop') return request.socket.destroy();
    return response.writeHead(step, { 'content-type': 'application/json' }).end(step === 503 ? '{"accepted":false}' : '{}');
  }

  /** Accepts what hangs. */
  release() {
    for (const response of this.#held.splice(0)) response.writeHead(202).end('{}');
  }

  end() {
    this.http.closeAllConnections();
    this.http.close();
  }
}

export class Stage extends Process {
  #flags;

  /** `filter`: what is logged; more than warnings is kept and not shown. */
  static async open(t, { script = [], flags = [], env = {}, filter = 'warn' } = {}) {
    const stage = new Stage(env, { keepsLog: filter !== 'warn' });
    stage.agent = new Agent(script);
    await new Promise((resolve) => stage.agent.http.listen(0, '127.0.0.1', resolve));
    const config = stage.database.replace('answerable.db', 'settings.toml');
    const url = `http://127.0.0.1:${stage.agent.http.address().port}/`;
    writeFileSync(config, `[executors.platform]\nkind = "webhook"\nurl = "${url}"\nsecret = "${SECRET}"\nallow_private = true\n`);
    stage.#flags = ['--config', config, '--log-filter', filter, ...flags];
    t.after(() => stage.end());
    return stage.up();
  }

  async up() {
    return this.start(...this.#flags);
  }

  /** `kill -9`, and a new start on the same file. */
  async restart(signal = 'SIGKILL') {
    await this.stop(signal);
    return this.up();
  }

  async end() {
    this.agent.end();
    await this.stop('SIGKILL').catch(() => {});
    assert.match(execFileSync(BINARY, ['check', '--database', `sqlite:${this.database}`], { encoding: 'utf8' }), /violations=0/);
    rmSync(dirname(this.database), { recursive: true });
  }

  /** Rows of the file, as an outsider sees them; a statement that changes something is committed. */
  sql(statement, ...values) {
    const script = 'import json,sqlite3,sys\nc=sqlite3.connect(sys.argv[1],timeout=10)\nprint(json.dumps(c.execute(sys.argv[2],json.loads(sys.argv[3])).fetchall()))\nc.commit()';
    return JSON.parse(execFileSync('python3', ['-c', script, this.database, statement, JSON.stringify(values)], { maxBuffer: 1 << 26 }));
  }

  async #one(query, variables, token) {
    const [value] = Object.values(await this.graphql(query, variables, token));
    return value;
  }

  #input(name, kind, input, selection, token) {
    return this.#one(`mutation($input: ${kind}!) { ${name}(input: $input) { ${selection} } }`, { input }, token);
  }

  async task(title = 'Paint the fence') {
    return (await this.#input('createTask', 'CreateTaskInput', { title }, '... on TaskPayload { taskId }')).taskId;
  }

  /** A session with a running turn, unless it says otherwise. */
  async session({ task, executor = 'platform', isRunning = true } = {}) {
    const input = { taskId: task ?? (await this.task()), executor };
    const { sessionId } = await this.#input('createSession', 'CreateSessionInput', input, '... on SessionPayload { sessionId }');
    if (isRunning) await this.turn(sessionId);
    return sessionId;
  }

  /** A newer turn; what came of it where it is refused. */
  async turn(sessionId, extra = {}) {
    const result = await this.#input('startTurn', 'StartTurnInput', { sessionId, ...extra }, '__typename ... on StartTurnPayload { turnId } ... on Refused { refusal }');
    return result.turnId ?? result;
  }

  prompt(sessionId, text, clientKey = `prompt ${text}`) {
    return this.#input('sendPrompt', 'SendPromptInput', { sessionId, text, clientKey }, '__typename ... on PromptAccepted { turnId } ... on PromptFailed { code retryable } ... on Refused { refusal retryable }');
  }

  complete(sessionId, turnId) {
    return this.#one('mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename ... on CompleteTurnPayload { workflowMayAdvance reason } ... on Refused { refusal } } }', { s: sessionId, t: turnId });
  }

  say(sessionId, content) {
    return this.#input('appendMessage', 'AppendMessageInput', { sessionId, content }, '... on MessagePayload { messageId }');
  }

  setState(sessionId, state) {
    return this.#one('mutation($s: ID!, $state: SessionState!) { setSessionState(sessionId: $s, state: $state) { __typename } }', { s: sessionId, state });
  }

  delete(sessionId) {
    return this.#one('mutation($s: ID!) { deleteSession(sessionId: $s) { __typename } }', { s: sessionId });
  }

  /** What the agent is told: at once if it does not wait. Each time it is another bundle, unless `extra` has a key. */
  askWhole(sessionId, questions = [CHOICE], extra = {}) {
    const input = { sessionId, questions, clientKey: randomUUID(), ...extra };
    return this.#input('askClarification', 'AskClarificationInput', input, OUTCOME);
  }

  async ask(sessionId, ...rest) {
    return (await this.askWhole(sessionId, ...rest)).pendingId;
  }

  wait(pendingId, seconds = 30) {
    return this.#one(`mutation($p: ID!, $s: Int!) { awaitClarification(pendingId: $p, waitSeconds: $s) { ${OUTCOME} } }`, { p: pendingId, s: seconds });
  }

  cancel(pendingId) {
    return this.#one('mutation($p: ID!) { cancelClarification(pendingId: $p) { __typename ... on Refused { refusal } } }', { p: pendingId });
  }

  detach(sessionId) {
    return this.#one('mutation($s: ID!) { detachClarifications(sessionId: $s) { __typename ... on DetachClarificationsPayload { detached } } }', { s: sessionId });
  }

  respond(pendingId, answers = WHITE, clientKey = `answer ${pendingId}`, token = undefined) {
    return this.#input('respond', 'RespondInput', { pendingId, answers, clientKey }, RESULT, token);
  }

  skip(pendingId, clientKey = `skip ${pendingId}`) {
    return this.#input('skip', 'SkipInput', { pendingId, clientKey }, RESULT);
  }

  bundle(pendingId) {
    return this.#one(`query($p: ID!) { clarification(pendingId: $p) ${BUNDLE} }`, { p: pendingId });
  }

  async inbox() {
    const { edges } = await this.#one(`{ pendingClarifications(first: 100) { edges { node ${BUNDLE} } } }`);
    return edges.map((edge) => edge.node);
  }

  view(sessionId) {
    return this.#one(`query($s: ID!) { session(id: $s) ${SESSION} }`, { s: sessionId });
  }

  async tasks() {
    const { edges } = await this.#one('{ tasks(first: 100) { edges { node { id title pendingAction primarySessionPendingAction } } } }');
    return edges.map((edge) => edge.node);
  }

  /** Waits as an agent does until the bundle is live. */
  async live(pendingId, seconds = 30) {
    const outcome = this.wait(pendingId, seconds);
    outcome.catch(() => {}); // whoever needs it, awaits it
    await until('somebody waits', async () => (await this.bundle(pendingId)).state === 'ACTIVE_LIVE');
    return { outcome };
  }

  /** All that a session tells, from now on or from `after`. */
  async hear(sessionId, after = null, token = undefined) {
    const items = [];
    const query = `subscription($s: ID!, $after: Cursor) { sessionChanges(sessionId: $s, after: $after) ${CHANGE} }`;
    const following = follow(this.address, query, { variables: { s: sessionId, after }, token, hear: ({ data }) => data && items.push(data.sessionChanges) });
    if (!after) await following.started;
    return { ...following, items };
  }
}

export const revisionOf = ({ revision }) => BigInt(revision.epoch) * 2n ** 64n + BigInt(revision.sequence);

/** One entry of the table: a stage, and what must hold on it. */
export function probe(id, title, options, holds = options) {
  test(`${id}: ${title}`, { timeout: 120_000 }, async (t) => holds(await Stage.open(t, options), t));
}
