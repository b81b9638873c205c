import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSandbox, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';

const environment = { ...process.env };

/** The directory of Longshore during the tests of a file. */
export let home: string;
export let store: Store;
/** What calls by id need in order to find the sandboxes of `open`. */
export let where: { backend: string; databaseUrl: string; log: typeof log };
export const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });

/** Gives the tests of a file a home and a database of their own. None of them may leave a sandbox. */
export function useSandboxes(): void {
  let database: TestDatabase;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'longshore-open-'));
    Object.assign(process.env, { LONGSHORE_HOME: home, LONGSHORE_INSTALLATION: testInstallation(), LONGSHORE_HOST_ID: 'test-host' });
    database = await createTestDatabase();
    store = await openStore({ url: database.url, log });
    where = { backend: 'local', databaseUrl: database.url, log };
  });
  afterAll(async () => {
    expect((await store.sandboxes.list({})).filter(({ state }) => state !== 'destroyed')).toEqual([]);
    process.env = environment;
    await store[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
}

export const open = (options: OpenSandboxOptions = {}) => openSandbox({ ...where, ...options });
