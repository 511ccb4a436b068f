/** What a person is told when an answer does not simply arrive. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, GATE, SIDES, Server, closeBrowser, href, openPage, row, until } from './harness.mjs';

after(closeBrowser);

const send = (page) => page.getByRole('button', { name: 'Send answer', exact: true });

async function asking(t, { executor = 'platform', ...options } = {}) {
  const server = await Server.start(t, options);
  const task = await server.task('Paint the fence');
  const session = await server.session(task, { executor });
  const pendingId = await server.ask(session, [COLOUR]);
  return { server, task, session, pendingId, path: href(task, session) };
}

/** Holds a page's own mutation back until something else has happened on the server. */
async function before(page, name, act) {
  await page.route('**/graphql', async (route) => {
    if (new RegExp(`mutation ${name}\\b`).test(route.request().postData() ?? '')) await act();
    return route.fallback();
  });
}

/** Cuts a page off from what changes, as a broken socket would. */
const deafen = (page) => page.routeWebSocket(/\/graphql\/ws/, () => {});

test('script 6: of two pages the one that comes later shows the answer that counted, and not its own', async (t) => {
  const { server, path, pendingId } = await asking(t);
  const a = await openPage(t, server, { path });
  const b = await openPage(t, server, { path });
  await b.locator('.option', { hasText: 'Red' }).click();
  await before(b, 'Respond', async () => {
    await a.locator('.option', { hasText: 'White' }).click();
    await send(a).click();
    await a.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  });
  await send(b).click();
  const receipt = b.locator(`.receipt[data-bundle="${pendingId}"]`);
  await receipt.getByText('Answered elsewhere').waitFor();
  assert.deepEqual(await receipt.locator('dd').allInnerTexts(), ['White']);
  await b.locator('.outcome[data-outcome="elsewhere"]').waitFor();
  assert.equal(server.dispatches.length, 1);
  assert.deepEqual((await server.bundle(pendingId)).questions[0].answer.optionIds, ['q1_opt1']);
});

test('script 6: a page that still shows a superseded question gets a conflict, and nothing is written or resumed', async (t) => {
  const { server, path, session, task, pendingId } = await asking(t);
  const page = await openPage(t, server, { path });
  await page.locator('.option', { hasText: 'Red' }).click();
  await before(page, 'Respond', () => server.turn(session, 'Something else.'));
  await send(page).click();
  await page.locator('.outcome[data-outcome="superseded"]').waitFor();
  await page.locator('.receipt').getByText('A newer turn replaced this question').waitFor();
  assert.equal(await page.locator('.panel').count(), 0);
  assert.equal((await server.bundle(pendingId)).questions[0].status, 'PENDING');
  assert.equal(server.dispatches.length, 0);
  // What the person had chosen is not lost.
  await page.getByRole('button', { name: 'Put into the message' }).click();
  assert.equal(await page.getByLabel('Message to the agent').inputValue(), 'Colour: Red');
  // Deleting what the newer turn said revives nothing.
  const { session: now } = await server.gql('query($s: ID!) { session(id: $s) { messages(last: 10) { edges { node { id kind turn { id } content } } } } }', { s: session });
  const newest = now.messages.edges.at(-1).node;
  assert.equal(newest.content, 'Something else.');
  await server.gql('mutation($id: ID!) { deleteMessage(messageId: $id) { __typename } }', { id: newest.id });
  await page.getByText('Something else.').waitFor({ state: 'detached' });
  await page.reload();
  await page.locator('.receipt').getByText('A newer turn replaced this question').waitFor();
  assert.equal(await page.locator('.panel').count(), 0);
  assert.doesNotMatch(await row(page, task).innerText(), /Needs your answer/);
});

test('script 6: a question that a newer turn replaces leaves an open page by itself, and says so', async (t) => {
  const { server, path, session } = await asking(t);
  const page = await openPage(t, server, { path });
  await page.locator('.panel').waitFor();
  await server.turn(session, 'Something else.');
  await page.locator('.outcome[data-outcome="superseded"]').waitFor();
  await page.locator('.panel').waitFor({ state: 'detached' });
});

test('script 7: a refused delivery keeps the answer, and sending it again resumes once', async (t) => {
  const { server, path, pendingId } = await asking(t, { script: [503, 202] });
  const [page, other] = [await openPage(t, server, { path }), await openPage(t, server, { path })];
  await other.locator('.panel').waitFor();
  await page.locator('.option', { hasText: 'Red' }).click();
  await send(page).click();
  await page.getByRole('alert').getByText('did not accept the answer').waitFor();
  assert.ok(await page.getByRole('radio', { name: 'Red' }).isChecked());
  // Other pages see the question open again.
  await send(other).waitFor();
  await row(other, await other.locator('.row').first().getAttribute('data-task')).getByText('Needs your answer').waitFor();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  assert.equal(server.dispatches.length, 2);
  assert.deepEqual((await server.bundle(pendingId)).questions[0].answer.optionIds, ['q1_opt3']);
});

test('script 7: a delivery that nobody can tell the end of is final, and offers no second try', async (t) => {
  const { server, path, pendingId } = await asking(t, { script: [500] });
  const page = await openPage(t, server, { path });
  await page.locator('.option', { hasText: 'Red' }).click();
  await send(page).click();
  await page.getByRole('alert').getByText('may already have reached the agent').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0);
  assert.equal(await page.locator('.panel').count(), 0);
  await page.locator('.receipt').getByText('It may have reached the agent').waitFor();
  assert.equal((await server.bundle(pendingId)).state, 'TERMINAL');
  assert.equal(server.dispatches.length, 1);
});

test('another person\'s response that is being delivered is shown, and the panel comes back if it fails', async (t) => {
  let refuse;
  const refused = new Promise((resolve) => (refuse = resolve));
  const { server, path, pendingId } = await asking(t);
  const page = await openPage(t, server, { path });
  await page.locator('.option', { hasText: 'Red' }).click();
  server.script.push(() => refused.then(() => server.hook.closeAllConnections()));
  const other = server.respond(pendingId, [{ questionId: 'q1', optionIds: ['q1_opt1'] }]);
  await page.getByText('This is being answered elsewhere').waitFor();
  assert.ok(await page.getByRole('radio', { name: 'Red' }).isDisabled());
  refuse();
  await other;
  await page.getByText('This is being answered elsewhere').waitFor({ state: 'detached' });
});

test('script 11: without a socket an answer still goes through', async (t) => {
  const { server, path, pendingId } = await asking(t);
  const page = await openPage(t, server, { path: '/' });
  await page.locator('.entry').waitFor();
  await deafen(page);
  await page.goto('about:blank');
  await page.goto(`${server.url}${path}`);
  await page.locator('.option', { hasText: 'Red' }).click();
  await page.locator('.banner').waitFor();
  await send(page).click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  assert.equal((await server.bundle(pendingId)).outcome, 'ANSWERED');
});

test('script 11: a server that dies with an answer in its hands gives the question back once', async (t) => {
  const { server, path, pendingId } = await asking(t, { executor: null });
  const page = await openPage(t, server, { path });
  await page.locator('.option', { hasText: 'Red' }).click();
  await send(page).click();
  await until('the claim', async () => (await server.bundle(pendingId)).state === 'DELIVERY_CLAIMED');
  await server.down('SIGKILL');
  await page.getByRole('alert').getByText('No reply came back').waitFor();
  await page.locator('.banner').waitFor();
  await server.up();
  await page.locator('.banner').waitFor({ state: 'detached', timeout: 15_000 });
  assert.equal(await page.locator('.panel').count(), 1);
  assert.ok(await page.getByRole('radio', { name: 'Red' }).isChecked());
  await page.getByRole('button', { name: 'Send again' }).click();
  const waited = server.gql('mutation($id: ID!) { awaitClarification(pendingId: $id, waitSeconds: 20) { ... on ClarificationOutcome { status answers { selected } } } }', { id: pendingId });
  assert.deepEqual((await waited).awaitClarification, { status: 'ANSWERED', answers: [{ selected: ['Red'] }] });
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  assert.equal(await page.locator('.panel').count(), 0);
  // A second answer is none, whoever gives it.
  assert.equal(await server.respond(pendingId, [{ questionId: 'q1', optionIds: ['q1_opt1'] }]), 'ResponseConflict');
  const { outcome, questions } = await server.bundle(pendingId);
  assert.deepEqual([outcome, questions[0].answer.optionIds], ['ANSWERED', ['q1_opt3']]);
  assert.deepEqual(await page.locator('.receipt dd').allInnerTexts(), ['Red']);
});

test('script 12: beside a hidden successor that was attempted, a question of the visible turn is history', async (t) => {
  let acknowledge;
  const acknowledged = new Promise((resolve) => (acknowledge = resolve));
  const { server, path, session, task, pendingId } = await asking(t, { script: [() => acknowledged] });
  const second = await server.ask(session, [{ ...GATE, prompt: 'The other question' }]);
  const answered = server.respond(pendingId, [{ questionId: 'q1', optionIds: ['q1_opt1'] }]);
  await until('the attempt', () => server.dispatches.length === 1);
  const page = await openPage(t, server, { path });
  await page.locator(`.receipt[data-bundle="${second}"]`).getByText('A newer turn replaced this question').waitFor();
  assert.equal(await page.locator(`.panel[data-bundle="${second}"]`).count(), 0);
  assert.doesNotMatch(await row(page, task).innerText(), /Needs your answer/);
  acknowledge();
  assert.equal(await answered, 'ResponseAccepted');
  await page.locator(`.receipt[data-bundle="${pendingId}"]`).getByText('Answered elsewhere').waitFor();
  assert.equal(await page.locator('.panel').count(), 0);
});

test('a newer bundle opens by itself, and takes nothing over from the one before', async (t) => {
  const { server, path, session } = await asking(t);
  const page = await openPage(t, server, { path });
  await page.locator('.option', { hasText: 'Red' }).click();
  await page.keyboard.press('Escape');
  await server.turn(session, 'Once more.');
  await server.ask(session, [COLOUR, SIDES]);
  await page.getByText('0 of 2 answered').waitFor();
  assert.equal(await page.locator('.panel.collapsed').count(), 0);
  assert.equal(await page.locator('.option input:checked').count(), 0);
});
