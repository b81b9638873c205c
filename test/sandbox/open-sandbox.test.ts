import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { openSandbox, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { createSandboxes } from '../../src/sandbox/backends.ts';
import { destroyExpired } from '../../src/sandbox/destroy-expired.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/log.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';
import { output } from './docker/support.ts';

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
const before = { ...process.env };
let home: string;
let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'longshore-open-'));
  Object.assign(process.env, { LONGSHORE_HOME: home, LONGSHORE_INSTALLATION: testInstallation(), LONGSHORE_HOST_ID: 'test-host' });
  database = await createTestDatabase();
  store = await openStore({ url: database.url, log });
});
afterAll(async () => {
  expect((await store.sandboxes.list({})).filter(({ state }) => state !== 'destroyed')).toEqual([]);
  process.env = before;
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});
const open = (options: OpenSandboxOptions = {}) => openSandbox({ backend: 'local', databaseUrl: database.url, log, ...options });
/** What a worker does from time to time. */
async function reap(): Promise<string[]> {
  await using sandboxes = await createSandboxes({ config: { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: 'local' }, store, log });
  return destroyExpired({ store, sandboxes, log });
}

test.each(['docker', 'local'])('a sandbox of %s works without a conversation, and is destroyed with its handle', async (backend) => {
  let sandboxId: string;
  {
    await using sandbox = await open({ backend });
    ({ sandboxId } = sandbox);
    expect(await output(sandbox, 'echo works')).toBe('works');
    expect(await sandbox.freeze()).toBe('frozen');
    expect(await sandbox.tier()).toBe('frozen');
    expect(await output(sandbox, 'echo awake')).toBe('awake');
  }
  expect((await store.sandboxes.get(sandboxId))?.state).toBe('destroyed');
});

test('one that was let go of is found again by its id, and its time begins anew', async () => {
  const first = await open({ ttlMs: 100_000 });
  await first.writeFile('kept', 'yes');
  const before = (await store.sandboxes.get(first.sandboxId))?.expiresAt ?? '';
  await first.release();
  await using again = await open({ sandboxId: first.sandboxId, ttlMs: 200_000 });
  expect(again.sandboxId).toBe(first.sandboxId);
  expect(await again.readFile('kept', { encoding: 'utf-8' })).toBe('yes');
  const after = (await store.sandboxes.get(first.sandboxId))?.expiresAt ?? '';
  expect(Date.parse(after) - Date.parse(before)).toBeGreaterThanOrEqual(100_000);
});

test('an unknown id is an error and never a new sandbox, and so is that of another tenant', async () => {
  const missing = { code: 'SANDBOX_NOT_FOUND', message: 'No sandbox "sbx_none".' };
  await expect(open({ sandboxId: 'sbx_none' })).rejects.toMatchObject(missing);
  expect(await store.sandboxes.get('sbx_none')).toBeUndefined();
  await using mine = await open({ tenantId: 'mine' });
  await expect(open({ sandboxId: mine.sandboxId, tenantId: 'other' })).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
});

test('one whose time is over is destroyed by the next who looks; keepalive puts that off', async () => {
  await using kept = await open({ ttlMs: 10_000 });
  await using short = await open({ ttlMs: 1 });
  await kept.keepalive(600_000);
  await kept.keepalive(1);
  expect(await reap()).toEqual([short.sandboxId]);
  expect(await reap()).toEqual([]);
  expect((await store.sandboxes.get(short.sandboxId))?.state).toBe('destroyed');
  await expect(short.run('true')).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  expect(await output(kept, 'echo lives')).toBe('lives');
});

test('assets are there from the start, and one that is missing leaves no sandbox behind', async () => {
  await writeFile(join(home, 'data.csv'), 'a,b');
  await using sandbox = await open({ assets: [{ from: join(home, 'data.csv'), to: '/home/user/data/data.csv' }] });
  expect(await output(sandbox, 'cat data/data.csv')).toBe('a,b');
  const from = join(home, 'none');
  await expect(open({ assets: [{ from, to: 'x' }] })).rejects.toThrow(
    `Asset ${from} could not be put to x: there is no such file or directory on this worker. Mend sandbox.assets, or what it names.`,
  );
});

test('where no template declares users there is but one for commands', async () => {
  await using sandbox = await open();
  expect(await sandbox.run('echo ok', { user: 'user' })).toMatchObject({ exitCode: 0 });
  await expect(sandbox.run('id', { user: 'root' })).rejects.toThrow(
    `Sandbox "${sandbox.sandboxId}" has no user "root" for commands, only user. Nobody is root in a sandbox; a template does as root what it has under setup`,
  );
});

test('without a database it says what is missing', async () => {
  await expect(openSandbox({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', log })).rejects.toThrow(/^Postgres cannot be reached: .* Check DATABASE_URL/);
});
