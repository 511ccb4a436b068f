/** What holds on every screen, whoever looks at it and by whatever means. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { COLOUR, GATE, Server, axe, closeBrowser, href, openPage } from './harness.mjs';
import { DEVICES, SCREENS, through } from './screens.mjs';

after(closeBrowser);

const NARROW = { width: 320, height: 640 };
const QUIET = { reducedMotion: 'reduce' };

/** What is wider than the box that it is in: code may scroll in its own, and what is only for ears may be cut off. */
const wide = (page) => page.evaluate(() => {
  const isOwn = (element) => element.matches('pre') || getComputedStyle(element).clipPath !== 'none';
  const boxes = [...document.querySelectorAll('*')].filter((element) => !isOwn(element) && !['visible', 'clip'].includes(getComputedStyle(element).overflowX));
  return [document.documentElement, ...boxes]
    .filter((element) => element.scrollWidth > element.clientWidth)
    .map((element) => `${element.tagName}.${element.className}: ${element.scrollWidth} > ${element.clientWidth}`);
});

/** What is chosen or current, and can be told by nothing but the page's own colours. */
const unseen = (page) => page.evaluate(() => [...document.querySelectorAll('.option.chosen, .step[aria-current], .row[aria-current], .inbox-link[aria-current]')]
  .filter((element) => getComputedStyle(element).outlineStyle === 'none')
  .map((element) => element.className));

for (const device of Object.keys(DEVICES)) {
  test(`script 13: on every screen of a ${device} axe finds nothing, in light, in dark and in forced colours, nothing moves and nothing is cut off`, async () => {
    const seen = [];
    await through(device, async (name, page) => {
      seen.push(name);
      for (const media of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { forcedColors: 'active' }]) {
        await page.emulateMedia({ ...QUIET, ...media });
        await axe(page, `${name}, ${JSON.stringify(media)}`, { isForced: !!media.forcedColors });
      }
      assert.deepEqual(await unseen(page), [], `${name}, forced colours`);
      await page.emulateMedia({ ...QUIET, forcedColors: 'none' });
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0, `${name}: something moves`);
      assert.deepEqual(await wide(page), [], name);
      if (device !== 'phone') return;
      await page.setViewportSize(NARROW);
      assert.deepEqual(await wide(page), [], `${name}, at 320 pixels`);
    }, QUIET);
    assert.deepEqual(seen, Object.keys(SCREENS));
  });
}

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
