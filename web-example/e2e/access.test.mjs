/** The page for those who want no motion, and for those who have only a keyboard. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, GATE, Server, href, openPage } from './harness.mjs';
import { QUIET, wide } from './everywhere.mjs';
import { through } from './screens.mjs';

test('script 13: what moves for others is still for those who want no motion', async () => {
  await through('desktop', async (_name, page) => {
    const moving = () => page.evaluate(() => document.getAnimations().length);
    assert.ok(await moving() > 0);
    await page.emulateMedia(QUIET);
    assert.equal(await moving(), 0);
  }, { names: ['tasks'], reducedMotion: 'no-preference' });
});

test('script 13: what is wider than its box is found', async () => {
  await through('phone', async (_name, page) => {
    assert.deepEqual(await wide(page), []);
    await page.evaluate(() => {
      document.querySelector('.transcript p').append('x'.repeat(400));
      document.body.style.overflowWrap = 'normal';
    });
    assert.notDeepEqual(await wide(page), []);
  }, { names: ['a question'] });
});

/** A page with a panel of these questions. */
async function panel(t, questions) {
  const server = await Server.start(t);
  const task = await server.task('Paint the fence');
  const session = await server.session(task);
  await server.ask(session, questions);
  const page = await openPage(t, server, { path: href(task, session) });
  await page.locator('.panel').waitFor();
  return { server, session, page };
}

test('script 13: Tab walks from the steps to the choices, the text and the actions', async (t) => {
  const { page } = await panel(t, [COLOUR, GATE]);
  await page.locator('.panel h2').focus();
  const walk = [];
  for (let n = 0; n < 9; n += 1) {
    await page.keyboard.press('Tab');
    walk.push(await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.closest('label')?.innerText.split('\n')[0] ?? (document.activeElement?.tagName === 'TEXTAREA' ? 'text' : document.activeElement?.textContent)));
  }
  assert.deepEqual(walk, ['Question 1: Colour, open', 'Question 2: Gate, open', 'White', 'text', 'Back', 'Next', 'Skip', 'Collapse', 'Number keys choose']);
});

test('script 13: the choices of a question stay one step of the Tab key while the page is drawn again', async (t) => {
  const { server, session, page } = await panel(t, [COLOUR]);
  await page.getByRole('radio', { name: 'White' }).focus();
  await server.say(session, 'I am still here.');
  await page.getByText('I am still here.').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA');
});
