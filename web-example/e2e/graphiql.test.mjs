/** GraphiQL as the binary has it inside: it works without anything from elsewhere, and only in development. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { closeBrowser, openPage, Server, until } from './harness.mjs';

after(closeBrowser);

/** Types a document in place of the one that is there, and runs it. */
async function run(page, document) {
  const editor = page.locator('.graphiql-query-editor .monaco-editor').first();
  await editor.click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(document);
  await page.keyboard.press('Control+Enter');
}

const shown = (page) => page.locator('.result-window').innerText();

test('GraphiQL runs queries and subscriptions, knows the schema, and loads nothing from elsewhere', async (t) => {
  const server = await Server.start(t, { flags: ['--profile', 'development'] });
  const task = await server.task('Paint the fence');
  const page = await openPage(t, server);
  const hosts = new Set();
  page.on('request', (request) => hosts.add(new URL(request.url()).origin));
  await page.goto(`${server.url}/graphiql`);
  await page.locator('.graphiql-query-editor .monaco-editor').first().waitFor({ timeout: 30_000 });
  await run(page, '{ tasks(first: 1) { edges { node { id } } } }');
  await until('the answer', async () => (await shown(page)).includes(task), 20_000);
  await run(page, 'subscription { taskChanges { __typename cursor } }');
  await until('the snapshot', async () => (await shown(page)).includes('TaskSnapshot'), 20_000);
  await page.getByLabel('Show Documentation Explorer').click();
  await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).click();
  await page.getByText('pendingClarifications').first().waitFor();
  assert.deepEqual([...hosts].filter((origin) => origin !== 'null'), [server.url]);
});

test('in production there is none', async (t) => {
  const server = await Server.start(t);
  for (const path of ['/graphiql', '/graphiql/assets/app.js']) {
    assert.equal((await fetch(`${server.url}${path}`)).status, 404, path);
  }
});
