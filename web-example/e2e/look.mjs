/** Pictures of the states of the page, for those who work on it: `node e2e/look.mjs FOLDER`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { COLOUR, DESKTOP, GATE, PHONE, SIDES, Server, closeBrowser, href, openPage } from './harness.mjs';

const out = process.argv[2] ?? new URL('../screenshots', import.meta.url).pathname;
const only = process.argv[3];
mkdirSync(out, { recursive: true });
const ends = [];
const t = { after: (end) => ends.push(end) };

const server = await Server.start(t);
const idle = await server.task('Mow the lawn');
await server.session(idle, { isRunning: false });
const docs = await server.task('Update the onboarding guide');
await server.session(docs);
const infra = await server.task('Migrate the billing database');
const infraSession = await server.session(infra);
await server.askLive(infraSession, [{ title: 'Window', prompt: 'When may the migration run? It locks `invoices` for about **four minutes**.', options: [{ label: 'Tonight, 02:00 UTC (recommended)', description: 'Lowest traffic of the week.' }, { label: 'Now', description: 'Customers would notice.' }] }]);
const task = await server.task('Paint the fence', 'The north side is the oldest.');
const session = await server.session(task, { executor: 'platform' });
await server.say(session, 'I have looked at the fence. The **north side** needs sanding first:\n\n- 14 boards are sound\n- 3 boards want replacing\n\n`paint --estimate` says two days.');
const first = await server.ask(session, [COLOUR]);
await server.respond(first, [{ questionId: 'q1', optionIds: ['q1_opt2'] }]);
await new Promise((r) => setTimeout(r, 300));
await server.say(session, 'Green it is. I go to the shop now.');
await server.ask(session, [COLOUR, SIDES, GATE], { context: 'I have the colour. Before I buy paint:' });

for (const scheme of ['light', 'dark']) {
  for (const [name, viewport] of [['desktop', DESKTOP], ['phone', PHONE]]) {
    if (only && only !== `${scheme}-${name}`) continue;
    const options = { viewport, colorScheme: scheme, reducedMotion: 'reduce', ...(name === 'phone' ? { hasTouch: true, isMobile: true, deviceScaleFactor: 2 } : {}) };
    const page = await openPage(t, server, options);
    const shot = async (state) => page.screenshot({ path: join(out, `${name}-${scheme}-${state}.png`) });
    await page.getByRole('heading', { name: 'Needs you' }).waitFor();
    await page.locator('.entry').first().waitFor();
    await shot('inbox');
    if (name === 'phone') {
      await page.getByRole('button', { name: /Tasks/ }).click();
      await page.locator('.sheet .row').first().waitFor();
      await shot('sheet');
      await page.getByRole('button', { name: 'Close' }).click();
    }
    await page.goto(`${server.url}${href(task, session)}`);
    await page.locator('.panel').waitFor();
    await page.waitForTimeout(250);
    await shot('question');
    await page.locator('.option').first().click();
    await page.waitForTimeout(100);
    await shot('multi');
    await page.locator('.option').nth(0).click();
    await page.locator('.option').nth(2).click();
    await page.getByRole('button', { name: 'Next', exact: true }).click();
    await page.locator('.own textarea').fill('Mind the dog');
    await page.getByRole('button', { name: 'Review', exact: true }).click();
    await shot('review');
    await page.getByRole('button', { name: 'Skip', exact: true }).click();
    await shot('skip');
    await page.getByRole('button', { name: 'Collapse' }).click();
    await shot('collapsed');
    await page.goto(`${server.url}${href(infra)}`);
    await page.locator('.entry').first().waitFor();
    await shot('task-only');
    await page.goto(`${server.url}${href(infra, infraSession)}`);
    await page.locator('.panel').waitFor();
    await shot('live');
  }
}
// What does not simply arrive, and what is empty.
const trouble = await Server.start(t, { script: [503, 500] });
const empty = await openPage(t, trouble, { reducedMotion: 'reduce' });
await empty.locator('.empty').waitFor();
await empty.screenshot({ path: join(out, 'desktop-light-empty.png') });
const hers = await trouble.task('Paint the fence');
const herSession = await trouble.session(hers, { executor: 'platform' });
await trouble.ask(herSession, [COLOUR]);
for (const [state, viewport] of [['retry', PHONE], ['unknown', DESKTOP]]) {
  const page = await openPage(t, trouble, { viewport, path: href(hers, herSession), reducedMotion: 'reduce' });
  await page.locator('.option', { hasText: 'Red' }).click();
  await page.getByRole('button', { name: 'Send answer', exact: true }).click();
  await page.getByRole('alert').waitFor();
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(out, `${state}.png`) });
}
const other = await trouble.task('Plan the garden');
const otherSession = await trouble.session(other);
await trouble.ask(otherSession, [COLOUR]);
const late = await openPage(t, trouble, { path: href(other, otherSession), reducedMotion: 'reduce' });
await late.locator('.option', { hasText: 'Red' }).click();
await trouble.turn(otherSession, 'Never mind the colour.');
await late.locator('.outcome').waitFor();
await late.screenshot({ path: join(out, 'superseded.png') });
await trouble.down('SIGKILL');
await late.locator('.banner').waitFor();
await late.screenshot({ path: join(out, 'reconnecting.png') });

for (const end of ends.reverse()) await end();
await closeBrowser();
