/** Every screen of the page, each brought about by what brings it about: for what holds on all of them, and for pictures. */
import { COLOUR, DESKTOP, GATE, PHONE, SIDES, Server, hold, href, openPage, row, tap, until } from './harness.mjs';

export const DEVICES = {
  desktop: { viewport: DESKTOP },
  phone: { viewport: PHONE, hasTouch: true, isMobile: true },
};

const CONTEXT = 'I have looked at the fence. Before I buy paint:';
const SECRET = { title: 'Shop', prompt: 'What is the code for the tool shed?', options: [], secret: true };
const TONIGHT = {
  title: 'Window', prompt: 'When may the migration run? It locks `invoices` for about **four minutes**.',
  options: [{ label: 'Tonight, 02:00 UTC (recommended)', description: 'Lowest traffic of the week.' }, { label: 'Now', description: 'Customers would notice.' }],
};
const SAID = 'I have looked at the fence. The **north side** needs sanding first:\n\n- 14 boards are sound\n- 3 boards want replacing\n\n`paint --estimate` says two days.';

/** A task with a session, which is what most screens are about, and a page of the device to look at it. */
class Stage {
  constructor(t, server, device, options) {
    Object.assign(this, { t, server, device, options });
  }

  /** Tasks in every state that a row can have, as a person would find them. */
  async world() {
    const { server } = this;
    await server.session(await server.task('Mow the lawn'), { isRunning: false });
    const begin = async (title) => server.session(await server.task(title));
    await server.report(await begin('Update the onboarding guide'), { activity: 'GENERATING', subagentCount: 2 });
    await server.report(await begin('Index the archive'), { activity: 'BACKGROUND' });
    await server.reportError(await begin('Rotate the signing keys'), 'The vault refused the new key');
    await server.askPermission(await begin('Deploy to staging'), 'Run `terraform apply` on **staging**?');
    await server.askLive(await begin('Migrate the billing database'), [TONIGHT]);
  }

  async fence() {
    this.task = await this.server.task('Paint the fence', 'The north side is the oldest.');
    this.session = await this.server.session(this.task, { executor: 'platform' });
    await this.server.say(this.session, SAID);
  }

  get path() {
    return href(this.task, this.session);
  }

  async ask(...questions) {
    this.pendingId = await this.server.ask(this.session, questions, { context: CONTEXT });
    return this.pendingId;
  }

  /** Opens the page; `prepare` comes before it asks the server for anything. */
  async open(path = this.path, prepare) {
    const page = await openPage(this.t, this.server, { ...this.device, ...this.options, path: prepare ? '/icon.svg' : path });
    this.page = page;
    if (prepare) {
      this.held = await prepare(page);
      await page.goto(`${this.server.url}${path}`);
    }
    return page;
  }

  /** Opens the conversation with these questions in its panel. */
  async asked(...questions) {
    await this.ask(...questions);
    const page = await this.open();
    await page.locator('.panel-body').waitFor();
    return page;
  }

  /** Chooses red and sends it, to whatever the platform or the network does with it. */
  async sent(prepare) {
    const page = await this.asked(COLOUR);
    await prepare?.(page);
    await page.locator('.option', { hasText: 'Red' }).click();
    await page.getByRole('button', { name: 'Send answer' }).click();
    return page;
  }

  async tasks() {
    if (this.device.isMobile) await this.page.getByRole('button', { name: /^Tasks/ }).click();
    await row(this.page, this.task).waitFor();
  }
}

const post = (name, reply) => (page) => page.route('**/graphql', (route) => (new RegExp(`(mutation|query) ${name}\\b`).test(route.request().postData() ?? '') ? reply(route) : route.fallback()));
const lost = (name) => post(name, (route) => route.abort());
const socket = (act) => (page) => page.routeWebSocket(/\/graphql\/ws/, act);
const answers = (json) => (route) => route.fulfill({ json: { data: json } });
const banner = (kind, act = () => {}) => async (s) => {
  const page = await s.open('/', socket(act));
  await page.locator(`.banner.${kind}`).waitFor();
};
/** What is asked for is on its way, and nothing is told meanwhile. */
const held = (name, text, path) => async (s) => {
  const page = await s.open(path?.(s), async (own) => {
    await socket(() => {})(own);
    return hold(own, name);
  });
  await page.getByText(text).first().waitFor();
};
/** Neither what is asked for nor what is told arrives. */
const failing = (name, text, path) => async (s) => {
  const page = await s.open(path?.(s), async (own) => {
    await lost(name)(own);
    await socket(() => {})(own);
  });
  await page.getByText(text).first().waitFor();
};
const inbox = () => '/';

/** The list of tasks, what needs somebody, and the connection. */
const LISTS = {
  'signing in': async (s) => {
    s.server.token = (await s.server.makeToken('OPERATOR')).token;
    await (await s.open('/')).getByLabel('Token').waitFor();
  },
  'a token that is refused': async (s) => {
    await SCREENS['signing in'](s);
    await s.page.getByLabel('Token').fill('ans_wrong');
    await s.page.getByRole('button', { name: 'Sign in' }).click();
    await s.page.getByRole('alert').waitFor();
  },
  'who is asked for': held('Viewer', 'Connecting…', inbox),
  'no server': failing('Viewer', 'cannot be reached', inbox),
  connecting: banner('connecting'),
  reconnecting: banner('reconnecting', (ws) => ws.close()),
  offline: async (s) => {
    let cut;
    const page = await s.open('/', socket((ws) => { ws.connectToServer(); cut = () => ws.close(); }));
    await page.locator('.empty').waitFor();
    await page.context().setOffline(true);
    await cut();
    await page.locator('.banner.offline').waitFor();
  },
  inbox: async (s) => {
    await s.world();
    await s.ask(COLOUR, SIDES, GATE);
    await (await s.open('/')).locator('.entry').nth(1).waitFor();
  },
  'an empty inbox': async (s) => (await s.open('/')).locator('.empty').waitFor(),
  'no tasks': async (s) => {
    await s.server.gql('mutation($id: ID!) { deleteTask(taskId: $id) { __typename } }', { id: s.task });
    await (await s.open('/')).locator('.empty').waitFor();
  },
  'an inbox that loads': held('Tasks', 'Looking for questions', inbox),
  'an inbox that could not be loaded': failing('Tasks', 'could not be loaded', inbox),
  tasks: async (s) => {
    await SCREENS.inbox(s);
    await s.tasks();
  },
  'a task that opens': async (s) => {
    await s.world();
    await s.ask(COLOUR);
    await s.open('/', (page) => hold(page, 'TaskSessions'));
    await s.tasks();
    await row(s.page, s.task).getByText('Needs your answer').waitFor();
    await row(s.page, s.task).click();
    await s.page.locator('.row[aria-busy="true"]').waitFor();
  },
  'a task and its sessions': async (s) => {
    await s.ask(COLOUR);
    await s.server.session(s.task);
    await (await s.open(href(s.task))).locator('.entry').nth(1).waitFor();
  },
  'a task without sessions': async (s) => (await s.open(href(await s.server.task('Plan the garden')))).getByText('No agent works').waitFor(),
  'sessions that could not be loaded': failing('TaskSessions', 'could not be loaded', (s) => href(s.task)),
  'a task that is gone': async (s) => (await s.open(href('nothing'))).getByText('This task is gone').waitFor(),
};

/** A conversation, and what became of its questions. */
const CONVERSATIONS = {
  'a conversation that loads': held('Session', 'Loading the conversation'),
  'a conversation that could not be loaded': failing('Session', 'could not be loaded'),
  'a conversation that is gone': async (s) => (await s.open(href(s.task, 'nothing'))).getByText('This conversation is gone').waitFor(),
  'an empty conversation': async (s) => {
    s.session = await s.server.session(s.task, { isRunning: false });
    await (await s.open()).getByText('Nothing has been said yet').waitFor();
  },
  receipts: async (s) => {
    const { server, session } = s;
    const gone = await s.ask({ ...GATE, prompt: 'Should there be a sign?' });
    await server.turn(session, 'Now, please.');
    const skipped = await s.ask(GATE);
    await server.gql('mutation($input: SkipInput!) { skip(input: $input) { __typename } }', { input: { pendingId: skipped, clientKey: 'k', reason: 'There is no gate.' } });
    const { pendingId: taken } = await server.askLive(session, [{ ...GATE, prompt: 'Is there a dog?' }]);
    await server.gql('mutation($id: ID!) { cancelClarification(pendingId: $id) { __typename } }', { id: taken });
    await server.respond(await s.ask(COLOUR, SIDES), [{ questionId: 'q1', optionIds: ['q1_opt2'] }, { questionId: 'q2', optionIds: ['q2_opt1', 'q2_opt3'], customText: 'and the posts' }]);
    const page = await s.open();
    await page.locator('.receipt.answered').waitFor();
    await page.locator(`.receipt.superseded[data-bundle="${gone}"]`).waitFor();
    await page.locator('.receipt.rejected').waitFor();
    await page.locator('.receipt.cancelled').waitFor();
  },
  'an expired question': async (s) => {
    await s.ask(COLOUR);
    await s.server.gql('mutation($s: ID!) { setSessionState(sessionId: $s, state: COMPLETED) { __typename } }', { s: s.session });
    await (await s.open()).locator('.receipt.expired').waitFor();
  },
  'a permission': async (s) => {
    await s.server.askPermission(s.session, 'Run `rm -rf build`?');
    await (await s.open()).getByRole('button', { name: 'Allow' }).waitFor();
  },
  'a permission that was given': async (s) => {
    await SCREENS['a permission'](s);
    await s.page.getByRole('button', { name: 'Allow' }).click();
    await s.page.getByText('Allowed').waitFor();
  },
  'a message that replaces a question': async (s) => {
    const page = await s.asked(COLOUR);
    await page.getByRole('button', { name: 'Collapse' }).click();
    await page.getByLabel('Message to the agent').fill('Never mind the colour.');
    await page.getByText('A message starts a new turn').waitFor();
  },
  'a message without a reply': async (s) => {
    const page = await s.open(undefined, lost('SendPrompt'));
    await page.getByLabel('Message to the agent').fill('How is it going?');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('alert').waitFor();
  },
};

/** The panel, from the question's arrival to the end of its answer. */
const PANEL = {
  'a question that arrives': async (s) => {
    let feed;
    const page = await s.open(undefined, async (own) => (feed = await tap(own)));
    await page.locator('.transcript').waitFor();
    await until('the feed', () => feed.ids.has('SessionChanges'));
    const hold_ = await hold(page, 'Bundle');
    feed.send('SessionChanges', { sessionChanges: { __typename: 'TurnStarted', now: { action: 'CLARIFICATION', revision: { epoch: '999', sequence: '1' } } } });
    s.held = hold_;
    await page.getByText('Receiving a question').waitFor();
  },
  'a question': async (s) => {
    await s.world();
    await s.server.respond(await s.ask(SIDES), [{ questionId: 'q1', optionIds: ['q1_opt1', 'q1_opt2'] }]);
    await until('the next turn', () => s.server.dispatches.length === 1);
    await s.server.say(s.session, 'North and east it is. I go to the shop now.');
    await s.asked(COLOUR, SIDES, GATE);
  },
  'a question that an agent waits for': async (s) => {
    await s.server.askLive(s.session, [TONIGHT]);
    await (await s.open()).getByText('The agent waits for you').waitFor();
  },
  'several choices': async (s) => {
    const page = await s.asked(SIDES);
    await page.getByLabel('North').check();
    await page.getByLabel('South').check();
  },
  'own words': async (s) => (await s.asked(GATE)).locator('.own textarea').fill('Mind the dog'),
  'a secret': async (s) => (await s.asked(SECRET)).getByText('not kept as a draft').waitFor(),
  'too many words': async (s) => (await s.asked(GATE)).locator('.own textarea').fill('x'.repeat(2_001)),
  collapsed: async (s) => {
    await (await s.asked(COLOUR, GATE)).getByRole('button', { name: 'Collapse' }).click();
    await s.page.locator('.panel.collapsed').waitFor();
  },
  review: async (s) => {
    const page = await s.asked(COLOUR, SIDES, GATE);
    await page.locator('.option', { hasText: 'Green' }).click();
    await page.getByLabel('North').check();
    await page.getByLabel('South').check();
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await page.locator('.own textarea').fill('Mind the dog');
    await page.getByRole('button', { name: 'Review', exact: true }).click();
    await page.locator('.review').waitFor();
  },
  'a review with something open': async (s) => {
    const page = await s.asked(COLOUR, GATE);
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await page.getByRole('button', { name: 'Review', exact: true }).click();
    await page.getByText('2 questions still want an answer').waitFor();
  },
  'a skip to confirm': async (s) => {
    await (await s.asked(COLOUR, GATE)).getByRole('button', { name: 'Skip', exact: true }).click();
    await s.page.getByRole('button', { name: 'Skip all 2 questions?' }).waitFor();
  },
  sending: async (s) => {
    const page = await s.sent((own) => hold(own, 'Respond'));
    await page.getByRole('button', { name: 'Sending…' }).waitFor();
  },
  'a question that is answered elsewhere just now': async (s) => {
    let let_;
    s.server.script.push(() => new Promise((resolve) => (let_ = resolve)));
    const page = await s.asked(COLOUR);
    s.t.after(() => let_?.());
    s.server.respond(s.pendingId, [{ questionId: 'q1', optionIds: ['q1_opt1'] }]).catch(() => {});
    await page.getByText('This is being answered elsewhere').waitFor();
  },
  'a delivery that was refused': async (s) => {
    s.server.script.push(503);
    await (await s.sent()).getByRole('button', { name: 'Send again' }).waitFor();
  },
  'no reply': async (s) => (await s.sent(lost('Respond'))).getByRole('button', { name: 'Send again' }).waitFor(),
  'an answer that is not valid': async (s) => {
    const errors = [{ path: 'answers[0].optionIds', message: 'This choice is not offered any more.' }];
    await (await s.sent(post('Respond', answers({ respond: { __typename: 'InvalidResponse', errors } })))).getByText('not offered any more').waitFor();
  },
  'an answer that arrived': async (s) => (await s.sent()).locator('.receipt.answered').waitFor(),
  'an answer that may have arrived': async (s) => {
    s.server.script.push(500);
    await (await s.sent()).locator('.outcome.serious').waitFor();
  },
  'answered elsewhere': async (s) => {
    const page = await s.asked(COLOUR);
    await page.locator('.option', { hasText: 'Red' }).click();
    await s.server.respond(s.pendingId, [{ questionId: 'q1', optionIds: ['q1_opt1'] }]);
    await page.locator('.outcome[data-outcome="elsewhere"]').waitFor();
  },
  superseded: async (s) => {
    const page = await s.asked(COLOUR);
    await page.locator('.option', { hasText: 'Red' }).click();
    await s.server.turn(s.session, 'Never mind the colour.');
    await page.locator('.outcome[data-outcome="superseded"]').waitFor();
  },
};

export const SCREENS = { ...LISTS, ...CONVERSATIONS, ...PANEL };

/** Brings a page of a device through the screens, each on a server of its own: calls back with its name and its page. */
export async function through(device, visit, { names = Object.keys(SCREENS), ...options } = {}) {
  for (const name of names) {
    const ends = [];
    const t = { after: (end) => ends.push(end) };
    try {
      const server = await Server.start(t);
      const stage = new Stage(t, server, DEVICES[device], options);
      await stage.fence();
      await SCREENS[name](stage);
      await visit(name, stage.page);
    } catch (error) {
      error.message = `${name}: ${error.message}`;
      throw error;
    } finally {
      // The page goes first, then what it was promised, then the server.
      for (const end of ends.toReversed()) await end();
    }
  }
}
