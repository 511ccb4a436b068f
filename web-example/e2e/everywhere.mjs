/** What holds on every screen, for the files that look at those of one device: they run beside each other. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { OF_COLOURS, axe, closeBrowser } from './harness.mjs';
import { SCREENS, through } from './screens.mjs';

after(closeBrowser);

const NARROW = { width: 320, height: 640 };
export const QUIET = { reducedMotion: 'reduce' };

/** What is wider than the box that it is in: code may scroll in its own, and what is only for ears may be cut off. */
export const wide = (page) => page.evaluate(() => {
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

/** Every screen of a device. In forced colours all colours are the system's: only what is told by them alone is looked for. */
export const everyScreen = (device) => test(`script 13: on every screen of a ${device} axe finds nothing, in light and in dark, forced colours hide nothing, nothing moves and nothing is cut off`, async () => {
  const seen = [];
  await through(device, async (name, page) => {
    seen.push(name);
    await page.emulateMedia({ ...QUIET, colorScheme: 'light' });
    await axe(page, `${name}, light`);
    await page.emulateMedia({ ...QUIET, colorScheme: 'dark' });
    await axe(page, `${name}, dark`, OF_COLOURS);
    await page.emulateMedia({ ...QUIET, forcedColors: 'active' });
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
