import { Client } from 'pg';
import { deferred } from '../../src/common/deferred.ts';
import { createLocalSandboxes } from '../../src/sandbox/lifecycle/local-sandboxes.ts';
import { createSandboxes, registerSandboxBackend } from '../../src/sdk/backends.ts';
import { destroyExpired } from '../../src/sdk/destroy-expired.ts';
import { removeExpiredBeside } from '../../src/sdk/remove-expired-beside.ts';
import { openParts } from '../../src/sdk/with-sandboxes.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { log, open, store, useSandboxes, where } from './sandboxes.ts';

useSandboxes();

const begun: string[] = [];
let gate = deferred<void>();

/** An engine that takes long to remove sandboxes of others. */
const strangers = new Set<string>();
registerSandboxBackend('slow', (parts) => {
  const sandboxes = createLocalSandboxes(parts);
  return {
    ...sandboxes,
    async destroy(sandboxId, only) {
      begun.push(sandboxId);
      if (strangers.has(sandboxId)) await gate.promise;
      await sandboxes.destroy(sandboxId, only);
    },
  };
});

/** Sandboxes whose time is over, and that nothing has removed. */
async function expired(count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    const sandbox = await open();
    strangers.add(sandbox.sandboxId);
    await sandbox.release();
  }
  const client = new Client(where.databaseUrl);
  await client.connect();
  await client.query('update sandboxes set expires_at = clock_timestamp() where sandbox_id = any($1)', [[...strangers]]);
  await client.end();
  begun.length = 0;
  gate = deferred();
}
const removed = async () => (await store.sandboxes.list({ states: ['destroyed'] })).filter(({ sandboxId }) => strangers.has(sandboxId)).length;
const begunOfStrangers = () => begun.filter((id) => strangers.has(id)).length;

test('an open does not wait for the removal of expired sandboxes of others; its handle removes them, and leaves none half removed', async () => {
  await expired(3);
  const sandbox = await open({ backend: 'slow' });
  expect((await sandbox.run('echo works')).stdout.text).toBe('works\n');
  expect(begun).toHaveLength(1);
  expect(await removed()).toBe(0);
  const ended = sandbox.destroy();
  gate.resolve();
  await ended;
  expect(await removed()).toBe(begunOfStrangers());
  await using next = await open({ backend: 'slow' });
  while ((await removed()) < 3) await next.tier();
});

test('the end waits for the removal that it is at, and begins no further one', async () => {
  const before = await removed();
  await expired(3);
  const parts = await removeExpiredBeside(await openParts({ ...where, backend: 'slow' }, 'visitor'), undefined);
  while (begun.length === 0) await store.sandboxes.listExpired();
  const ended = parts[Symbol.asyncDispose]();
  gate.resolve();
  await ended;
  expect(begunOfStrangers()).toBe(1);
  expect((await removed()) - before).toBe(1);
  await using next = await open({ backend: 'slow' });
  while ((await removed()) - before < 3) await next.tier();
});

test('an open that fails ends after the removal that it is at', async () => {
  const before = await removed();
  await expired(2);
  const failing = open({ backend: 'slow', assets: [{ from: '/nothing/there', to: 'x' }] });
  const refused = expect(failing).rejects.toMatchObject({ code: 'ASSETS_FAILED' });
  while (begun.every((id) => strangers.has(id))) await store.sandboxes.listExpired();
  gate.resolve();
  await refused;
  expect((await removed()) - before).toBe(begunOfStrangers());
  await using worker = await createSandboxes({ config: { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: 'local' }, store, log });
  await destroyExpired({ store, sandboxes: worker, log });
});

test('one whose own time is over is not opened', async () => {
  await expired(1);
  const [sandboxId] = [...strangers].slice(-1);
  gate.resolve();
  await expect(open({ backend: 'slow', sandboxId })).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
});
