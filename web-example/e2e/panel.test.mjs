/** Answering, skipping, keeping what was entered, and doing so by keyboard and by any means. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, GATE, PHONE, SIDES, Server, axe, closeBrowser, href, openPage, row, until } from './harness.mjs';

after(closeBrowser);

const COATS = { title: 'Coats', prompt: 'How many coats?', allowCustomText: false, options: [{ label: 'One' }, { label: 'Two' }] };
const writes = (page) => page.sent.filter((name) => name === 'Respond' || name === 'Skip');

async function asking(t, questions, { live = false, ...options } = {}) {
  const server = await Server.start(t, options);
  const task = await server.task('Paint the fence');
  const session = await server.session(task, { executor: 'platform' });
  const asked = live ? await server.askLive(session, questions, { context: 'Before I buy paint:' }) : { pendingId: await server.ask(session, questions, { context: 'Before I buy paint:' }) };
  return { server, task, session, path: href(task, session), ...asked };
}

test('script 3: three questions by key, by click and by text, reviewed and sent once', async (t) => {
  const { server, path, pendingId, outcome } = await asking(t, [COLOUR, COATS, GATE], { live: true });
  const page = await openPage(t, server, { path });
  await page.getByText('The agent waits for you').waitFor();
  await page.locator('.option input').first().focus();
  await page.keyboard.press('2');
  await page.getByRole('heading', { name: 'Question 2 of 3' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Question 2 of 3');
  await page.locator('.option', { hasText: 'Two' }).click();
  await page.getByRole('heading', { name: 'Question 3 of 3' }).waitFor();
  await page.locator('.own textarea').fill('Mind the dog');
  await page.getByText('3 of 3 answered').waitFor();
  await page.locator('.own textarea').press('Enter');
  await page.getByRole('heading', { name: 'Your answers' }).first().waitFor();
  assert.deepEqual(await page.locator('.review dd .said').allInnerTexts(), ['Green (recommended)', 'Two', 'Mind the dog']);
  assert.deepEqual(writes(page), []);
  await page.getByRole('button', { name: 'Send answers' }).click();
  const receipt = page.locator(`.receipt[data-bundle="${pendingId}"]`);
  await receipt.getByText('Answered', { exact: true }).waitFor();
  assert.deepEqual(await receipt.locator('dd').allInnerTexts(), ['Green (recommended)', 'Two', 'Mind the dog']);
  await until('the focus on the receipt', () => receipt.evaluate((element) => element === document.activeElement));
  assert.deepEqual(writes(page), ['Respond']);
  const told = await outcome;
  assert.deepEqual(told.answers.map(({ selected, text }) => [selected, text]), [[['Green (recommended)'], null], [['Two'], null], [[], 'Mind the dog']]);
});

test('script 4: several options and a text are stored together', async (t) => {
  const { server, path, pendingId } = await asking(t, [SIDES]);
  const page = await openPage(t, server, { path });
  await page.getByLabel('North').check();
  await page.getByLabel('South').check();
  await page.locator('.own textarea').fill('and the gate');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  const { questions } = await server.bundle(pendingId);
  assert.deepEqual(questions[0].answer, { optionIds: ['q1_opt1', 'q1_opt3'], customText: 'and the gate' });
});

test('script 5: Escape sends nothing, a reload keeps what was entered, and a skip is final for all', async (t) => {
  const { server, path, task, session, pendingId } = await asking(t, [COLOUR, GATE]);
  const page = await openPage(t, server, { path });
  await page.locator('.option', { hasText: 'Red' }).click();
  await page.locator('.own textarea').fill('half a sen');
  await page.keyboard.press('Escape');
  await page.locator('.panel.collapsed').getByText('2 questions').waitFor();
  await page.locator('.panel.collapsed').getByText('2 of 2 answered').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Show the question');
  await page.waitForTimeout(200);
  assert.deepEqual(writes(page), []);
  await page.reload();
  await page.getByText('2 of 2 answered').waitFor();
  assert.ok(await page.getByRole('radio', { name: 'Red' }).isChecked());
  await page.getByRole('button', { name: 'Skip', exact: true }).click();
  assert.deepEqual(writes(page), []);
  await page.getByRole('button', { name: 'Skip all 2 questions?' }).click();
  await page.locator('.receipt').getByText('Skipped').waitFor();
  assert.equal((await server.bundle(pendingId)).response.status, 'REJECTED');
  await page.reload();
  await page.locator('.receipt').getByText('Skipped').waitFor();
  assert.equal(await page.locator('.panel').count(), 0);
  assert.doesNotMatch(await row(page, task).innerText(), /Needs your answer/);
  assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('draft')).length), 0);
  // The turn's end brings nothing back.
  const { session: now } = await server.gql('query($s: ID!) { session(id: $s) { currentTurn { id } } }', { s: session });
  await server.gql('mutation($s: ID!, $t: ID!) { completeTurn(sessionId: $s, turnId: $t) { __typename } }', { s: session, t: now.currentTurn.id });
  await page.waitForTimeout(300);
  assert.equal(await page.locator('.panel').count(), 0);
});

test('script 5: skipping the newer question brings no older one back', async (t) => {
  const { server, path, task, session } = await asking(t, [COLOUR]);
  await server.turn(session, 'Something else.');
  await server.ask(session, [{ ...GATE, prompt: 'The newer question' }]);
  const page = await openPage(t, server, { path });
  await page.locator('.panel', { hasText: 'The newer question' }).waitFor();
  await page.getByRole('button', { name: 'Skip', exact: true }).click();
  await page.getByRole('button', { name: 'Skip this question?' }).click();
  await page.locator('.receipt').getByText('Skipped').waitFor();
  await page.reload();
  await page.locator('.receipt').getByText('A newer turn replaced this question').waitFor();
  assert.equal(await page.locator('.panel').count(), 0);
  assert.doesNotMatch(await row(page, task).innerText(), /Needs your answer/);
});

test('script 8: a wait that ran out is said on every card, and the answer succeeds with its acknowledgement', async (t) => {
  let acknowledge;
  const acknowledged = new Promise((resolve) => (acknowledge = resolve));
  const { server, session, task } = await asking(t, [GATE], { script: [() => acknowledged] });
  await server.turn(session, 'Begin again.');
  const { pendingId, outcome } = await server.askLive(session, [COLOUR, COATS], { waitSeconds: 4 });
  const page = await openPage(t, server, { path: href(task, session) });
  await page.locator('.panel').getByText('The agent waits for you').waitFor();
  assert.equal((await outcome).status, 'PENDING');
  const notice = page.locator('.panel').getByText('Your answer starts its next turn');
  await notice.waitFor();
  await page.reload();
  await notice.waitFor();
  await row(page, task).getByText('Needs your answer').waitFor();
  await page.locator('.option', { hasText: 'White' }).click();
  await page.getByRole('heading', { name: 'Question 2 of 2' }).waitFor();
  await notice.waitFor();
  await page.locator('.option', { hasText: 'One' }).click();
  await page.getByRole('button', { name: 'Send answers' }).click();
  await page.getByRole('button', { name: 'Sending…' }).first().waitFor();
  await until('the dispatch', () => server.dispatches.length === 1);
  await page.waitForTimeout(200);
  assert.ok(await page.getByRole('button', { name: 'Sending…' }).first().isVisible());
  acknowledge();
  await page.locator(`.receipt[data-bundle="${pendingId}"]`).getByText('Answered', { exact: true }).waitFor();
  assert.equal((await server.bundle(pendingId)).outcome, 'ANSWERED');
});

test('script 13: 2,000 code points are an answer, 2,001 are none, and an emoji counts once', async (t) => {
  const { server, path, pendingId } = await asking(t, [GATE]);
  const page = await openPage(t, server, { path });
  const area = page.locator('.own textarea');
  const send = page.getByRole('button', { name: 'Send answer' });
  await area.fill('🐕'.repeat(2_001));
  await page.getByText('One character over the limit of 2,000.').waitFor();
  assert.equal(await send.getAttribute('aria-disabled'), 'true');
  await send.click({ force: true });
  await area.press('Control+Enter');
  assert.deepEqual(writes(page), []);
  await area.fill('🐕'.repeat(2_000));
  await page.getByText('0 characters left').waitFor();
  await send.click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  assert.equal((await server.bundle(pendingId)).questions[0].answer.customText, '🐕'.repeat(2_000));
});

test('what an agent writes runs nothing, loads nothing and leads only where it says', async (t) => {
  const { server, session, path } = await asking(t, [{ ...GATE, prompt: '<img src=x onerror="window.bad = 1"> **Which?** [here](javascript:alert(1)) [there](https://example.org/)' }]);
  await server.say(session, '![pixel](https://evil.example.org/x.png) <script>window.bad = 1</script>');
  const page = await openPage(t, server, { path });
  await page.locator('.panel').waitFor();
  assert.equal(await page.evaluate(() => window.bad), undefined);
  assert.equal(await page.locator('.panel img, .transcript img, .panel script').count(), 0);
  assert.deepEqual(await page.locator('.panel a').evaluateAll((links) => links.map((link) => [link.href, link.rel])), [['https://example.org/', 'noopener noreferrer']]);
});

test('with tokens configured the page asks for one, answers under its name, and asks again when it is taken back', async (t) => {
  const { server, path, pendingId } = await asking(t, [COLOUR]);
  server.token = (await server.makeToken('OPERATOR')).token;
  const { token, tokenId } = await server.makeToken('PERSON');
  const page = await openPage(t, server, { path, reducedMotion: 'reduce' });
  await page.getByLabel('Token').waitFor();
  await axe(page, 'sign in');
  await page.getByLabel('Token').fill('ans_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.option', { hasText: 'Red' }).click();
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  assert.equal((await server.bundle(pendingId)).outcome, 'ANSWERED');
  assert.equal(await page.evaluate((text) => JSON.stringify({ ...localStorage }).includes(text) || location.href.includes(text), token), false);
  await server.gql('mutation($id: ID!) { revokeToken(tokenId: $id) { __typename } }', { id: tokenId });
  await page.getByLabel('Token').waitFor();
});

test('a permission that an agent asks for goes before its task\'s questions, and is decided in the conversation', async (t) => {
  const server = await Server.start(t);
  const task = await server.task('Clean up');
  const [asks, wants] = [await server.session(task), await server.session(task)];
  await server.ask(asks, [COLOUR]);
  await server.gql('mutation($s: ID!) { recordPermissionRequest(sessionId: $s, permissionId: "p1", content: "Run `rm -rf build`?") { __typename } }', { s: wants });
  const page = await openPage(t, server, { reducedMotion: 'reduce' });
  await row(page, task).getByText('Permission requested').waitFor();
  await row(page, task).click();
  await page.locator(`.session[data-session="${wants}"]`).waitFor();
  await axe(page, 'permission');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.locator('.message.permission').getByText('Allowed').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Allow' }).count(), 0);
  await row(page, task).getByText('Needs your answer').waitFor();
});

test('a permission stands among what needs somebody, and leads to the session that asks for it', async (t) => {
  const server = await Server.start(t);
  const task = await server.task('Clean up');
  await server.session(task);
  const wants = await server.session(task);
  const page = await openPage(t, server);
  await page.getByRole('heading', { name: 'Nothing needs you now' }).waitFor();
  await server.askPermission(wants);
  await page.getByRole('button', { name: /Clean up An agent asks for a permission/ }).click();
  await page.locator(`.session[data-session="${wants}"]`).getByRole('button', { name: 'Deny' }).click();
  await page.locator('.message.permission').getByText('Denied').waitFor();
  await page.getByRole('link', { name: 'Needs you', exact: true }).click();
  await page.getByRole('heading', { name: 'Nothing needs you now' }).waitFor();
});

test('what the server does not take as an answer is said in its question, in sight and with the focus', async (t) => {
  const { server, path } = await asking(t, [COLOUR, COATS]);
  const page = await openPage(t, server, { path, viewport: PHONE });
  const errors = [{ path: 'answers[0].optionIds', message: 'This choice is not offered any more.' }];
  await page.route('**/graphql', (route) => (/mutation Respond/.test(route.request().postData() ?? '') ? route.fulfill({ json: { data: { respond: { __typename: 'InvalidResponse', errors } } } }) : route.fallback()));
  await page.locator('.option', { hasText: 'Red' }).click();
  await page.locator('.option', { hasText: 'Two' }).click();
  await page.getByRole('button', { name: 'Send answers' }).click();
  const error = page.getByRole('alert').getByText('not offered any more');
  await error.waitFor();
  await until('the focus', () => page.getByRole('radio', { name: 'Red' }).evaluate((element) => element === document.activeElement));
  const [said, seen] = await Promise.all([error, page.locator('.panel-scroll')].map((element) => element.boundingBox()));
  assert.ok(said.y >= seen.y && said.y + said.height <= seen.y + seen.height, JSON.stringify([said, seen]));
});

test('a newcomer to the demo answers with three clicks on what the page names, and sees the agent go on', async (t) => {
  const server = await Server.start(t, { flags: ['--demo'] });
  const page = await openPage(t, server);
  await page.getByRole('heading', { name: 'Needs you', exact: true }).waitFor();
  await page.getByRole('link', { name: /Which colour should the fence have\?/ }).click();
  await page.getByRole('radio', { name: 'Green' }).click();
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  await page.locator('.panel').getByRole('heading', { name: 'Question 1 of 3' }).waitFor();
});
