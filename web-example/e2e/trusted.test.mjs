/** The page on a server that executes trusted documents only: its own are among them, and nobody had to list them. */
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { closeBrowser, GATE, href, openPage, Server } from './harness.mjs';

after(closeBrowser);

test('where only trusted documents are executed, the page loads, follows and answers', async (t) => {
  const server = await Server.start(t);
  const task = await server.task('Paint the fence');
  const session = await server.session(task, { executor: 'platform' });
  await server.ask(session, [GATE]);
  await server.down();
  server.flags.push('--only-trusted-documents');
  await server.up();
  await assert.rejects(server.inbox(), /DOCUMENT_NOT_TRUSTED/);
  const refused = [];
  const page = await openPage(t, server, { path: href(task, session) });
  page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => /"type":"error"/.test(String(payload)) && refused.push(payload)));
  page.on('response', async (response) => response.url().endsWith('/graphql') && /"errors"/.test(await response.text().catch(() => '')) && refused.push(response.url()));
  await page.reload();
  await page.locator('.own textarea').fill('Beware of the dog');
  await page.getByRole('button', { name: 'Send answer' }).click();
  await page.locator('.receipt').getByText('Answered', { exact: true }).waitFor();
  assert.equal(server.dispatches.length, 1);
  assert.deepEqual(refused, []);
});
