/**
 * Pictures of the screens, for those who work on the page: `node e2e/look.mjs FOLDER [SCREEN]`, each at both widths and
 * in light and dark. Without a folder it takes the few that the README shows.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { closeBrowser } from './harness.mjs';
import { DEVICES, SCREENS, through } from './screens.mjs';

const [folder, only] = process.argv.slice(2);
const SHOWN = [
  ['desktop', 'light', 'a question'], ['desktop', 'dark', 'inbox'],
  ['phone', 'dark', 'review'], ['phone', 'light', 'tasks'], ['phone', 'light', 'a delivery that was refused'],
];
const out = folder ?? new URL('../screenshots', import.meta.url).pathname;
mkdirSync(out, { recursive: true });

async function picture(device, colorScheme, names) {
  await through(device, async (name, page) => {
    // The last of what was asked for has arrived and is drawn.
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(out, `${device}-${colorScheme}-${name.replaceAll(' ', '-')}.png`) });
  }, { names, colorScheme, reducedMotion: 'reduce', ...(folder ? {} : { deviceScaleFactor: device === 'phone' ? 2 : 1 }) });
}

if (folder) {
  for (const device of Object.keys(DEVICES)) for (const scheme of ['light', 'dark']) await picture(device, scheme, only ? [only] : Object.keys(SCREENS));
} else {
  for (const [device, scheme, name] of SHOWN) await picture(device, scheme, [name]);
}
await closeBrowser();
