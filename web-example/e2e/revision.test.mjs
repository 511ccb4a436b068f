/** What arrives late changes nothing, whichever way it came. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, Server, closeBrowser, hold, href, openPage, row, tap, until } from './harness.mjs';

after(closeBrowser);

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
  const at = (revision, action) => ({
    ...node, pendingAction: action, statusSummaryState: 'PRESENT', statusSummary: { ...node.statusSummary, revision, pendingAction: action },
  });
  const live = (...summary) => socket.send('TaskChanges', { taskChanges: { __typename: 'TaskChanged', task: at(...summary) } });
  /** A list that was asked for after everything so far was answered. */
  const again = async () => {
    await page.waitForTimeout(250);
    while (held.length > 0) await held.shift().go();
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await until('the list again', () => held[0]);
    return held.shift();
  };
  const list = async (...summary) => {
    const { body, go } = await again();
    await go({ ...body, data: { tasks: { ...body.data.tasks, edges: [{ node: at(...summary) }] } } });
  };
  return { server, task, session, page, socket, live, list, again };
}

const says = (page, task, text) => row(page, task).getByText(text).waitFor();

test('script 10: an older revision loses, whether it comes by list or by event', async (t) => {
  const { page, task, live, list } = await opened(t);
  await live('109', 'CLARIFICATION');
  await says(page, task, 'Needs your answer');
  await live('108', null);
  await list('99', null);
  await page.waitForTimeout(150);
  await says(page, task, 'Needs your answer');
  // A thousand is more than 109, also where text would say otherwise.
  await list('1000', null);
  await says(page, task, 'Working');
  await live('999', 'PERMISSION');
  await list('109', 'CLARIFICATION');
  await page.waitForTimeout(150);
  await says(page, task, 'Working');
  await live('1001', 'PERMISSION');
  await says(page, task, 'Permission requested');
});

/** A conversation whose page is held back, with a question that the server has and the page does not know. */
async function unread(t) {
  const server = await Server.start(t);
  const task = await server.task('Paint the fence');
  const session = await server.session(task);
  await server.ask(session, [COLOUR]);
  const page = await openPage(t, server, { path: '/#/nowhere' });
  const socket = await tap(page);
  await page.goto('about:blank');
  const held = await hold(page, 'Session');
  await page.goto(`${server.url}${href(task, session)}`);
  await until('the conversation', () => held[0]);
  await until('the feed', () => socket.ids.has('SessionChanges'));
  const { body, go } = held.shift();
  const loaded = (epoch, sequence, active = body.data.session.activeClarification) => {
    const changed = structuredClone(body);
    Object.assign(changed.data.session, { projection: { action: active && 'CLARIFICATION', revision: { epoch, sequence } }, activeClarification: active });
    return go(changed);
  };
  const live = (epoch, sequence, action) => socket.send('SessionChanges', { sessionChanges: { __typename: 'TurnStarted', now: { action, revision: { epoch, sequence } } } });
  return { page, loaded, live };
}

test('script 10: an older projection of the open session loses, whether it comes by query or by event', async (t) => {
  const older = {
    'by event': async ({ loaded, live }) => { await loaded('10', '1', null); live('9', '99', 'CLARIFICATION'); },
    'by query': async ({ loaded, live }) => { live('10', '1', null); await loaded('9', '99'); },
    'of a generation that was never seen': async ({ loaded, live }) => { await loaded('3', '1', null); live('1', '99', 'CLARIFICATION'); },
  };
  for (const [name, arrive] of Object.entries(older)) {
    const stage = await unread(t);
    await arrive(stage);
    await stage.page.locator('.transcript').waitFor();
    await stage.page.waitForTimeout(150);
    assert.equal(await stage.page.locator('.panel').count(), 0, name);
  }
});

test('script 10: a newer projection of the open session wins, whether it comes by query or by event', async (t) => {
  const first = await unread(t);
  await first.loaded('9', '99');
  await first.page.locator('.panel').waitFor();
  first.live('10', '1', null);
  await first.page.locator('.panel').waitFor({ state: 'detached' });
  const other = await unread(t);
  other.live('9', '99', null);
  await other.page.locator('.panel').waitFor({ state: 'detached' });
  await other.loaded('10', '1');
  await other.page.locator('.panel').waitFor();
});

test('script 10: a cached clean projection is advanced by the very event that brings the question', async (t) => {
  const { server, page, task, session } = await opened(t, (id, own) => href(id, own));
  await page.locator('.chip', { hasText: 'Working' }).waitFor();
  await server.askLive(session, [COLOUR]);
  await page.locator('.panel').waitFor();
  await page.locator('.option', { hasText: 'Red' }).click();
  await says(page, task, 'Needs your answer');
});

test('script 14: a list that could not tell a task\'s summary does not erase a newer one that came live meanwhile', async (t) => {
  const { server, page, task, session, again } = await opened(t);
  // The row itself is the newest there is, so that nothing but the rule for summaries decides what shows.
  const invalid = ({ data, ...body }, pendingAction) => {
    const changes = { statusSummaryState: 'INVALIDATED', statusSummary: null, pendingAction, lastActivityAt: '2999-01-01T00:00:00.000000Z' };
    const edges = data.tasks.edges.map(({ node }) => ({ node: { ...node, ...changes } }));
    return { ...body, data: { tasks: { ...data.tasks, edges } } };
  };
  const older = await again();
  await server.ask(session, [COLOUR]);
  await says(page, task, 'Needs your answer');
  await older.go(invalid(older.body, null));
  await page.waitForTimeout(150);
  await says(page, task, 'Needs your answer');
  // With nothing newer, what is held is dropped, and the coarse action is what shows.
  const later = await again();
  await later.go(invalid(later.body, 'PERMISSION'));
  await says(page, task, 'Permission requested');
  // The next answer that holds brings the summary back.
  await (await again()).go();
  await says(page, task, 'Needs your answer');
});
