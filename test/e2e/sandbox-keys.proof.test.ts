import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createSandboxes } from '../../src/sdk/backends.ts';
import { installAgents, resultsOf, until, type Installation } from './support.ts';
import type { Chat } from '../../src/client.ts';

/** With the backend `local`, whose sandboxes start and end fast: the keys are the same on each. */
let installation: Installation;
let assets: string;
const shared = 'sbx_shared';
const look = { call: 'shell:run', with: { command: 'cat file || echo none' } };

beforeAll(async () => {
  assets = await mkdtemp(join(tmpdir(), 'longshore-assets-'));
  await writeFile(join(assets, 'data'), 'given');
  installation = await installAgents({
    forgetful: {
      sandbox: { persist: false, assets: [{ from: assets, to: '/home/user/given' }] },
      steps: [{ call: 'shell:run', with: { command: 'cat given/data; echo x > file' } }, { say: 'Written.' }, look, { say: 'Looked.' }],
    },
    joining: { sandbox: { sandboxId: shared }, steps: [look, { say: 'Looked.' }] },
    lost: { sandbox: { sandboxId: 'sbx_unknown' }, steps: [look, { say: 'Looked.' }] },
  });
  Object.assign(installation.environment, { LONGSHORE_SANDBOX_BACKEND: 'local' });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  const root = join(loadConfig().LONGSHORE_HOME, 'local', installation.name);
  expect([...(await readdir(join(root, 'containers'))), ...(await readdir(join(root, 'volumes')))]).toEqual([]);
  await rm(root, { recursive: true });
  await rm(assets, { recursive: true });
});
async function closed(chat: Chat): Promise<void> {
  await chat.close();
  await until(async () => (await chat.status()).state === 'closed', 'it is closed');
}
const start = (agent: string) => installation.longshore.start({ agent, user: 'user-1', message: 'Begin.' });

test('without persistence every turn has a sandbox of its own, with its assets', async () => {
  const chat = await start('forgetful');
  expect(await chat.reply()).toBe('Written.');
  await chat.send('Look.');
  expect(await chat.reply()).toBe('Looked.');
  expect((await resultsOf(chat)).map((result) => result['stdout'])).toEqual(['given', 'none\n']);
  await closed(chat);
  const events = await installation.store.events.read(chat.id, 0);
  expect(events.flatMap(({ type, data }) => (type === 'sandbox.changed' ? [data['tier']] : []))).toEqual(['running', 'destroyed', 'running', 'destroyed']);
});

test('a named sandbox is joined, kept when the conversation closes, and free again afterwards', async () => {
  const config = loadConfig(installation.environment);
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  await using sandboxes = await createSandboxes({ config, store: installation.store, log });
  const { handle } = await sandboxes.open({ sandboxId: shared, tenantId: 'default', ttlMs: 600_000 }, {});
  await handle.writeFile('file', 'shared');
  const chat = await start('joining');
  expect(await chat.reply()).toBe('Looked.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'shared' }]);
  const second = await start('joining');
  expect(await second.reply()).toBe('Looked.');
  expect(await resultsOf(second)).toEqual([{ isError: true, text: expect.stringContaining(`Sandbox "${shared}" belongs to conversation "${chat.id}"`) }]);
  await second.close();
  await closed(chat);
  const third = await start('joining');
  expect(await third.reply()).toBe('Looked.');
  expect(await resultsOf(third)).toMatchObject([{ stdout: 'shared' }]);
  await closed(third);
  expect(await installation.store.sandboxes.get(shared)).toMatchObject({ state: 'stopped', conversationId: third.id });
  await sandboxes.destroy(shared);
});

test('a sandbox that does not exist is a clear error, never a new one', async () => {
  const chat = await start('lost');
  expect(await chat.reply()).toBe('Looked.');
  expect(await resultsOf(chat)).toEqual([{ isError: true, text: expect.stringContaining('No sandbox "sbx_unknown".') }]);
  expect(await installation.store.sandboxes.get('sbx_unknown')).toBeUndefined();
  await chat.close();
});
