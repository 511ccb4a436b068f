/** What arrives late changes nothing, whichever way it came. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, Server, closeBrowser, hold, href, openPage, row, until } from './harness.mjs';

after(closeBrowser);

/** The page's socket, to which a test may add what the server once could have sent. */
async function tap(page) {
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

async function opened(t, path = () => '/') {
  const server = await Server.start(t);
  const task = await server.task('Paint the fence');
  const session = await server.session(task);
  const page = await openPage(t, server, { path: '/#/nowhere' });
  const socket = await tap(page);
  await page.goto('about:blank');
  const held = await hold(page, 'Tasks');
  await page.goto(`${server.url}${path(task, session)}`);
  await until('the list', () => held[0]);
  const [{ node }] = held[0].body.data.tasks.edges;
  await held.shift().go();
  await row(page, task).getByText('Working').waitFor();
  await until('the feed', () => socket.ids.has('TaskChanges'));
  const at = (epoch, sequence, action) => ({
    ...node, pendingAction: action, primarySessionPendingAction: action,
    sessions: [{ ...node.sessions[0], projection: { action, revision: { epoch, sequence } } }],
  });
  const live = (...revision) => socket.send('TaskChanges', { taskChanges: { __typename: 'TaskChanged', task: at(...revision) } });
  /** A list that was asked for after everything so far was answered. */
  const again = async () => {
    await page.waitForTimeout(250);
    while (held.length > 0) await held.shift().go();
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await until('the list again', () => held[0]);
    return held.shift();
  };
  const list = async (...revision) => {
    const { body, go } = await again();
    await go({ ...body, data: { tasks: { ...body.data.tasks, edges: [{ node: at(...revision) }] } } });
  };
  return { server, task, session, page, socket, live, list, again };
}

const says = (page, task, text) => row(page, task).getByText(text).waitFor();

test('script 10: an older revision loses, whether it comes by list or by event', async (t) => {
  const { page, task, live, list } = await opened(t);
  await live('3', '1', null);
  await live('1', '99', 'CLARIFICATION');
  await list('2', '7', 'CLARIFICATION');
  await page.waitForTimeout(150);
  await says(page, task, 'Working');
  await list('9', '5', null);
  await live('10', '1', 'CLARIFICATION');
  await says(page, task, 'Needs your answer');
  // Ten is more than nine, also as text.
  await live('9', '999', null);
  await list('9', '1000', null);
  await page.waitForTimeout(150);
  await says(page, task, 'Needs your answer');
  await list('10', '2', null);
  await says(page, task, 'Working');
});

test('script 10: an older projection of the open session does not bring its question back', async (t) => {
  const { server, page, session, socket } = await opened(t, (task, id) => href(task, id));
  await until('the feed', () => socket.ids.has('SessionChanges'));
  await server.ask(session, [COLOUR]);
  await page.locator('.panel').waitFor();
  const send = (epoch, sequence, action) => socket.send('SessionChanges', { sessionChanges: { __typename: 'TurnStarted', now: { action, revision: { epoch, sequence } } } });
  send('3', '1', null);
  await page.locator('.panel').waitFor({ state: 'detached' });
  send('1', '99', 'CLARIFICATION');
  await page.waitForTimeout(150);
  assert.equal(await page.locator('.panel').count(), 0);
});

test('script 10: a cached clean projection is advanced by the very event that brings the question', async (t) => {
  const { server, page, task, session } = await opened(t, (id, own) => href(id, own));
  await page.locator('.chip', { hasText: 'Working' }).waitFor();
  await server.askLive(session, [COLOUR]);
  await page.locator('.panel').waitFor();
  await page.locator('.option', { hasText: 'Red' }).click();
  await says(page, task, 'Needs your answer');
});

test('script 14: a list that could not tell a task\'s action does not erase what came live meanwhile', async (t) => {
  const { server, page, task, session, again } = await opened(t);
  const invalid = (body) => {
    const changed = structuredClone(body);
    Object.assign(changed.data.tasks.edges[0].node, { pendingAction: null });
    return { ...changed, errors: [{ message: 'cannot be read', path: ['tasks', 'edges', 0, 'node', 'pendingAction'], extensions: { code: 'INTERNAL', retryable: false } }] };
  };
  const older = await again();
  await server.ask(session, [COLOUR]);
  await says(page, task, 'Needs your answer');
  await older.go(invalid(older.body));
  await page.waitForTimeout(150);
  await says(page, task, 'Needs your answer');
  // With nothing newer, the coarse action is what shows.
  const later = await again();
  await later.go(invalid({ ...later.body, data: { tasks: { ...later.body.data.tasks, edges: later.body.data.tasks.edges.map((edge) => ({ node: { ...edge.node, primarySessionPendingAction: 'PERMISSION' } })) } } }));
  await says(page, task, 'Permission requested');
});
