/** A real server on a port and a file of its own, a browser, and an agent to be. */
import { spawn, execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

export const BIN = process.env.ANSWERABLE_BIN ?? new URL('../../target/debug/answerable', import.meta.url).pathname;
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Files to serve in place of those in the binary, while one works on them. */
const DIST = process.env.WEB_DIST;
const AXE = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 393, height: 727 };

/** A server that can be killed and started again on its file and port. */
export class Server {
  static async start(t, { flags = [], script = [] } = {}) {
    const server = new Server(mkdtempSync(join(tmpdir(), 'answerable-web-')), flags);
    await server.listenForDispatches(script);
    await server.up();
    t.after(() => server.end());
    return server;
  }

  constructor(dir, flags) {
    this.dir = dir;
    this.flags = flags;
    this.port = 0;
    this.dispatches = [];
    this.contexts = [];
  }

  /** A platform that is called by webhook, and does what the script says: a status, or a function of the response. */
  async listenForDispatches(script) {
    this.script = script;
    this.hook = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => (body += part));
      request.on('end', async () => {
        this.dispatches.push(JSON.parse(body || '{}'));
        const step = this.script.shift() ?? 202;
        if (typeof step === 'function') await step();
        const status = typeof step === 'number' ? step : 202;
        response.writeHead(status, { 'content-type': 'application/json' }).end(status === 503 ? '{"accepted":false}' : '{}');
      });
    });
    await new Promise((resolve) => this.hook.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${this.hook.address().port}/hook`;
    this.config = join(this.dir, 'settings.toml');
    writeFileSync(this.config, `[executors.platform]\nkind = "webhook"\nurl = "${url}"\nsecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"\nallow_private = true\n`);
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  get database() {
    return join(this.dir, 'test.db');
  }

  async up() {
    const flags = ['--listen', `127.0.0.1:${this.port}`, '--database', `sqlite:${this.database}`, '--config', this.config, ...this.flags];
    this.child = spawn(BIN, ['serve', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.log = '';
    this.port = await new Promise((resolve, reject) => {
      const hear = (part) => {
        this.log += part;
        const found = /listens on http:\/\/[^:]+:(\d+)/.exec(this.log);
        if (found) resolve(Number(found[1]));
      };
      this.child.stdout.on('data', hear);
      this.child.stderr.on('data', hear);
      this.child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${this.log}`)));
    });
  }

  async down(signal = 'SIGTERM') {
    const gone = new Promise((resolve) => this.child.on('exit', resolve));
    this.child.kill(signal);
    await gone;
  }

  /** Ends it, and asks the file whether anything that must hold does not. */
  async end() {
    for (const context of this.contexts) await context.close();
    this.hook.closeAllConnections();
    this.hook.close();
    if (this.child.exitCode === null && this.child.signalCode === null) await this.down('SIGKILL');
    const said = execFileSync(BIN, ['check', '--database', `sqlite:${this.database}`], { encoding: 'utf8' });
    assert.match(said, /violations=0/);
    rmSync(this.dir, { recursive: true, force: true });
  }

  async gql(query, variables = {}) {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(this.token ? { authorization: `Bearer ${this.token}` } : {}) },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json();
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  }

  async makeToken(role) {
    const { createToken } = await this.gql('mutation($input: CreateTokenInput!) { createToken(input: $input) { ... on CreateTokenPayload { token tokenId } } }', { input: { role, name: role } });
    return createToken;
  }

  async task(title, description = '') {
    const { createTask } = await this.gql('mutation($input: CreateTaskInput!) { createTask(input: $input) { ... on TaskPayload { taskId } ... on InvalidInput { errors { message } } } }', { input: { title, description } });
    assert.ok(createTask.taskId, JSON.stringify(createTask));
    return createTask.taskId;
  }

  async session(taskId, { executor = null, isRunning = true } = {}) {
    const { createSession } = await this.gql('mutation($input: CreateSessionInput!) { createSession(input: $input) { ... on SessionPayload { sessionId } } }', { input: { taskId, executor } });
    if (isRunning) await this.turn(createSession.sessionId, 'Do it.');
    return createSession.sessionId;
  }

  async turn(sessionId, prompt = '') {
    const { startTurn } = await this.gql('mutation($input: StartTurnInput!) { startTurn(input: $input) { __typename ... on StartTurnPayload { turnId } ... on Refused { refusal } } }', { input: { sessionId, prompt } });
    assert.ok(startTurn.turnId, JSON.stringify(startTurn));
    return startTurn.turnId;
  }

  async say(sessionId, content) {
    await this.gql('mutation($input: AppendMessageInput!) { appendMessage(input: $input) { __typename } }', { input: { sessionId, content } });
  }

  /** Asks and does not wait: the bundle is detached, and its answer begins a new turn. */
  async ask(sessionId, questions, extra = {}) {
    const input = { sessionId, questions, ...extra };
    const { askClarification } = await this.gql('mutation($input: AskClarificationInput!) { askClarification(input: $input) { __typename ... on ClarificationOutcome { pendingId } ... on InvalidInput { errors { path message } } ... on Refused { refusal } } }', { input });
    assert.ok(askClarification.pendingId, JSON.stringify(askClarification));
    return askClarification.pendingId;
  }

  /** Asks and waits as an agent does. `outcome` is what the agent is told in the end. */
  async askLive(sessionId, questions, extra = {}) {
    const before = await this.inbox();
    const outcome = this.gql(
      'mutation($input: AskClarificationInput!) { askClarification(input: $input) { __typename ... on ClarificationOutcome { status answers { questionId selected text } rejectReason } } }',
      { input: { sessionId, questions, waitSeconds: 60, ...extra } },
    ).then((data) => data.askClarification);
    outcome.catch(() => {});
    for (;;) {
      const now = await this.inbox();
      const fresh = now.find((id) => !before.includes(id));
      if (fresh) return { pendingId: fresh, outcome };
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Has an agent ask for a permission, in a session of its own turn. */
  async askPermission(sessionId, title = 'May I paint?', permissionId = 'p1') {
    const { recordPermissionRequest } = await this.gql('mutation($s: ID!, $p: ID!, $t: String!) { recordPermissionRequest(sessionId: $s, permissionId: $p, content: $t) { __typename ... on MessagePayload { messageId } } }', { s: sessionId, p: permissionId, t: title });
    assert.ok(recordPermissionRequest.messageId, JSON.stringify(recordPermissionRequest));
  }

  async report(sessionId, input) {
    await this.gql('mutation($input: ReportActivityInput!) { reportActivity(input: $input) { __typename } }', { input: { sessionId, ...input } });
  }

  async reportError(sessionId, preview) {
    await this.gql('mutation($s: ID!, $e: TaskErrorInput) { reportError(sessionId: $s, error: $e) { __typename } }', { s: sessionId, e: { preview } });
  }

  /** A task's stored summary. */
  async summary(taskId) {
    const { task } = await this.gql('query($id: ID!) { task(id: $id) { statusSummary { revision pendingAction pendingSessionId } } }', { id: taskId });
    return task.statusSummary;
  }

  async inbox() {
    const { pendingClarifications } = await this.gql('{ pendingClarifications(first: 100) { edges { node { pendingId } } } }');
    return pendingClarifications.edges.map((edge) => edge.node.pendingId);
  }

  async bundle(pendingId) {
    const { clarification } = await this.gql('query($id: ID!) { clarification(pendingId: $id) { state outcome response { status rejectReason } questions { id status answer { optionIds customText } } } }', { id: pendingId });
    return clarification;
  }

  async respond(pendingId, answers, clientKey = 'other') {
    const { respond } = await this.gql('mutation($input: RespondInput!) { respond(input: $input) { __typename } }', { input: { pendingId, answers, clientKey } });
    return respond.__typename;
  }
}

export const COLOUR = {
  title: 'Colour', prompt: 'Which colour should the fence have?',
  options: [{ label: 'White', description: 'Bright; shows dirt.' }, { label: 'Green (recommended)', description: 'Like the hedge.' }, { label: 'Red', description: 'Like the barn.' }],
};
export const SIDES = { title: 'Sides', prompt: 'Which sides should I paint?', multiSelect: true, options: [{ label: 'North' }, { label: 'East' }, { label: 'South' }] };
export const GATE = { title: 'Gate', prompt: 'What should the sign on the gate say?', options: [] };

let browser;

export async function openBrowser() {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', ...(DIST ? ['--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets'] : [])] });
  return browser;
}

export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

/** A page of its own context. `sent` collects the names of the operations that it posts, `heard` what its socket told. */
export async function openPage(t, server, { viewport = DESKTOP, path = '/', ...context } = {}) {
  const own = await (await openBrowser()).newContext({ viewport, ...context });
  server.contexts.push(own);
  const page = await own.newPage();
  page.setDefaultTimeout(8_000);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => /content security policy/i.test(message.text()) && page.faults.push(message.text()));
  page.heard = [];
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => page.heard.push(String(payload))));
  page.sent = [];
  page.on('request', (request) => {
    const operation = request.method() === 'POST' && /(?:mutation|query) (\w+)/.exec(request.postData() ?? '');
    if (operation) page.sent.push(operation[1]);
  });
  if (DIST && existsSync(join(DIST, 'index.html'))) {
    await page.route(/\/(assets\/.*|icon\.svg)?$/, async (route) => {
      const { pathname } = new URL(route.request().url());
      // Under the server's own policy, which the page has to live with.
      const { 'content-security-policy': policy } = await route.fetch({ url: `${server.url}/` }).then((response) => response.headers());
      return route.fulfill({ path: join(DIST, pathname === '/' ? 'index.html' : pathname), headers: { 'content-security-policy': policy } });
    });
  }
  t.after(() => assert.deepEqual(page.faults, []));
  await page.goto(`${server.url}${path}`);
  return page;
}

export const href = (taskId, sessionId) => `/#/tasks/${taskId}${sessionId ? `/sessions/${sessionId}` : ''}`;

export const row = (page, taskId) => page.locator(`[data-task="${taskId}"]`);

/** Waits until a condition over the page or the server holds. */
export async function until(what, holds, within = 8_000) {
  const end = Date.now() + within;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) assert.fail(`not within ${within} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** The rules of axe that look at colours; to all others light and dark are the same page. */
export const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** Asks axe, all of its rules or these; nothing may be wrong. */
export async function axe(page, where, rules) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE);
  const { violations } = await page.evaluate((runOnly) => window.axe.run(document, { resultTypes: ['violations'], ...(runOnly && { runOnly }) }), rules);
  const short = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message ?? '')).join(' | ')}`);
  assert.deepEqual(short, [], where);
}

/** Holds the posts of one operation until they are let go; `reply` may change what comes back. */
export async function hold(page, name) {
  const held = [];
  await page.route('**/graphql', async (route) => {
    if (!new RegExp(`(mutation|query) ${name}\\b`).test(route.request().postData() ?? '')) return route.fallback();
    const response = await route.fetch().catch(() => null);
    const body = await response?.json().catch(() => null);
    // The page or the server is gone: nobody is left to answer.
    if (!body) return route.abort().catch(() => {});
    // What was asked is answered as of now, and arrives whenever the test says so.
    return new Promise((done) => {
      held.push({ body, go: (changed = body) => route.fulfill({ response, json: changed }).catch(() => {}).then(done), fail: () => route.abort().catch(() => {}).then(done) });
    });
  });
  return held;
}

/** A page's socket, to which a test may add what the server once could have sent. */
export async function tap(page) {
  const tapped = { ids: new Map(), send: null };
  await page.routeWebSocket(/\/graphql\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      const name = /subscription (\w+)/.exec(message.payload?.query ?? '')?.[1];
      if (name) tapped.ids.set(name, message.id);
      server.send(text);
    });
    tapped.send = (name, data) => socket.send(JSON.stringify({ id: tapped.ids.get(name), type: 'next', payload: { data } }));
  });
  return tapped;
}
