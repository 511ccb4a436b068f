/** Task rows and what a click on one opens. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, PHONE, Server, closeBrowser, hold, href, openPage, row, until } from './harness.mjs';

after(closeBrowser);

const at = (page) => new URL(page.url()).hash;

/** A task whose primary session is clean and whose second one asks. */
async function owned(server, title = 'Paint the fence') {
  const task = await server.task(title);
  const primary = await server.session(task);
  const second = await server.session(task);
  await server.ask(second, [COLOUR]);
  return { task, primary, second };
}

test('script 1: a question in another task shows in its row and in the title, and nowhere else', async (t) => {
  const server = await Server.start(t);
  const idle = await server.task('Mow the lawn');
  const asking = await server.task('Paint the fence');
  const session = await server.session(asking);
  const page = await openPage(t, server);
  await row(page, asking).waitFor();
  assert.equal(await page.title(), 'Answerable');
  await server.ask(session, [COLOUR]);
  await row(page, asking).getByText('Needs your answer').waitFor();
  await until('the count in the title', async () => (await page.title()) === '(1) Answerable');
  await page.getByText('1 needs you').waitFor();
  assert.match(await row(page, idle).innerText(), /Nothing asked/);
  assert.equal(at(page), '');
});

test('script 2: a task opens the session that asks, not the primary one, on desktop and on a phone', async (t) => {
  const server = await Server.start(t);
  const { task, second } = await owned(server);
  const page = await openPage(t, server);
  await row(page, task).click();
  await page.locator(`.session[data-session="${second}"] .panel`).waitFor();
  assert.equal(at(page), href(task, second).slice(1));

  const phone = await openPage(t, server, { viewport: PHONE, hasTouch: true, isMobile: true });
  await phone.getByRole('button', { name: /Tasks/ }).tap();
  await phone.getByRole('dialog', { name: 'Tasks' }).waitFor();
  await row(phone, task).tap();
  await phone.locator(`.session[data-session="${second}"] .panel`).waitFor();
  await phone.getByRole('dialog', { name: 'Tasks' }).waitFor({ state: 'hidden' });
  assert.equal(at(phone), href(task, second).slice(1));
});

/** A page on which a task that asks was chosen, and its load is held; on a phone by the sheet. */
async function chosenAndHeld(t, server, task, viewport) {
  const page = await openPage(t, server, viewport ? { viewport } : {});
  const held = await hold(page, 'TaskSessions');
  if (viewport) await page.getByRole('button', { name: /Tasks/ }).click();
  await row(page, task).getByText('Needs your answer').waitFor();
  await row(page, task).click();
  await until('the load', () => held[0]);
  return { page, held };
}

test('script 9: a pending owner that changes during the load is not opened, on desktop and on a phone', async (t) => {
  const server = await Server.start(t);
  for (const viewport of [undefined, PHONE]) {
    const { task } = await owned(server);
    const { page, held } = await chosenAndHeld(t, server, task, viewport);
    assert.equal(await row(page, task).getAttribute('aria-busy'), 'true');
    // The same action of a newer session: a newer revision counts as another summary.
    const third = await server.session(task);
    await server.ask(third, [COLOUR]);
    const { revision, pendingSessionId } = await server.summary(task);
    assert.equal(pendingSessionId, third);
    await until('the page hears of it', () => page.heard.some((text) => text.includes(task) && text.includes(`"revision":"${revision}"`)));
    await row(page, task).getByText('Needs your answer').waitFor();
    await held[0].go();
    await until('the task-only route', () => at(page) === href(task).slice(1));
    if (viewport) await page.getByRole('dialog', { name: 'Tasks' }).waitFor({ state: 'hidden' });
    assert.equal(await page.locator('.panel').count(), 0);
  }
});

test('script 9: a pending action that another one replaces during the load opens no obsolete owner', async (t) => {
  const server = await Server.start(t);
  const { task, primary } = await owned(server);
  const { page, held } = await chosenAndHeld(t, server, task);
  await server.askPermission(primary);
  await row(page, task).getByText('Permission requested').waitFor();
  await held[0].go();
  await until('the task-only route', () => at(page) === href(task).slice(1));
});

test('script 9: a task that disappears during the load moves nothing, and the sheet stays open', async (t) => {
  const server = await Server.start(t);
  for (const viewport of [undefined, PHONE]) {
    const { task } = await owned(server);
    const { page, held } = await chosenAndHeld(t, server, task, viewport);
    await server.gql('mutation($id: ID!) { deleteTask(taskId: $id) { __typename } }', { id: task });
    await row(page, task).waitFor({ state: 'detached' });
    await held[0].go();
    await page.waitForTimeout(200);
    assert.equal(at(page), '');
    if (viewport) assert.ok(await page.getByRole('dialog', { name: 'Tasks' }).isVisible());
  }
});

test('script 9: a later choice makes the earlier one inert', async (t) => {
  const server = await Server.start(t);
  const first = await owned(server, 'First');
  const other = await owned(server, 'Second');
  const page = await openPage(t, server);
  const held = await hold(page, 'TaskSessions');
  await row(page, first.task).click();
  await until('the first load', () => held[0]);
  await row(page, other.task).click();
  await until('the second load', () => held[1]);
  await held[1].go();
  await until('the second task', () => at(page) === href(other.task, other.second).slice(1));
  await held[0].go();
  await page.waitForTimeout(200);
  assert.equal(at(page), href(other.task, other.second).slice(1));
});

test('script 9: of two forced loads of one task the older one overwrites nothing', async (t) => {
  const server = await Server.start(t);
  const { task, primary, second } = await owned(server);
  const page = await openPage(t, server);
  const held = await hold(page, 'TaskSessions');
  await row(page, task).getByText('Needs your answer').waitFor();
  await row(page, task).click();
  await until('the older load', () => held[0]);
  await row(page, task).click();
  await until('the newer load', () => held[1]);
  await held[1].go();
  await until('the owner', () => at(page) === href(task, second).slice(1));
  // The older one names another owner, with a revision that beats every other once it is written.
  const other = (body) => {
    const changed = structuredClone(body);
    for (const session of changed.data.taskSessions) {
      session.projection = { action: session.id === primary ? 'CLARIFICATION' : null, revision: { epoch: '999', sequence: '1' } };
    }
    return changed;
  };
  await held[0].go(other(held[0].body));
  await page.waitForTimeout(200);
  assert.equal(at(page), href(task, second).slice(1));
  assert.ok(await page.locator('.panel').isVisible());
  // From the newest load the very same is written, and is what opens.
  await row(page, task).click();
  await until('the newest load', () => held[2]);
  await held[2].go(other(held[2].body));
  await until('the other owner', () => at(page) === href(task, primary).slice(1));
});

test('script 9: a sheet that a wider window replaced during the load neither moves nor closes anything', async (t) => {
  const server = await Server.start(t);
  const { task } = await owned(server);
  const page = await openPage(t, server, { viewport: PHONE });
  const held = await hold(page, 'TaskSessions');
  await page.getByRole('button', { name: /Tasks/ }).click();
  await row(page, task).click();
  await until('the load', () => held[0]);
  await page.setViewportSize({ width: 900, height: 727 });
  await page.locator('.sidebar').waitFor();
  await page.setViewportSize(PHONE);
  await page.getByRole('button', { name: /Tasks/ }).click();
  await page.getByRole('dialog', { name: 'Tasks' }).waitFor();
  await held[0].go();
  await page.waitForTimeout(200);
  assert.equal(at(page), '');
  assert.ok(await page.getByRole('dialog', { name: 'Tasks' }).isVisible());
});

test('script 9: without an owner the session is released and the task-only route opens', async (t) => {
  const server = await Server.start(t);
  const open = await owned(server, 'Open');
  const { task, second } = await owned(server, 'Without an owner');
  const page = await openPage(t, server, { path: href(open.task, open.second) });
  await page.locator('.panel').waitFor();
  const held = await hold(page, 'TaskSessions');
  await row(page, task).click();
  await until('the load', () => held[0]);
  const nobody = structuredClone(held[0].body);
  for (const session of nobody.data.taskSessions) if (session.id === second) session.isInputCapable = false;
  await held[0].go(nobody);
  await until('the task-only route', () => at(page) === href(task).slice(1));
  assert.equal(await page.locator('.session').count(), 0);
});

test('script 9: a list that cannot be projected leads to the task-only route, and not to a clean task', async (t) => {
  const server = await Server.start(t);
  const { task } = await owned(server);
  for (const viewport of [undefined, PHONE]) {
    const { page, held } = await chosenAndHeld(t, server, task, viewport);
    await held[0].go({ data: null, errors: [{ message: 'the sessions cannot be projected', extensions: { code: 'INTERNAL', retryable: false } }] });
    await until('the task-only route', () => at(page) === href(task).slice(1));
    if (viewport) await page.getByRole('dialog', { name: 'Tasks' }).waitFor({ state: 'hidden' });
    if (!viewport) assert.match(await row(page, task).innerText(), /Needs your answer/);
  }
});
