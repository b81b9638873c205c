import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/log.ts';
import { openSandbox, registerSandboxBackend, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { createEngine } from '../../src/sandbox/engine/docker/engine.ts';
import { createDockerSandboxes } from '../../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';
import { expectNothingLeft, takeCensus, type Counted } from './census.ts';
import { Faults, waysToFail } from './faults.ts';

export const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
/** Of a test that tries many failures, on a busy machine. */
export const LONG_MS = 300_000;
/** Docker, with the failures of `faults`. */
export const BACKEND = 'docker-with-faults';
export const faults = new Faults();
/** A directory of the tests of a file; `home` in it is Longshore's. */
export let place: string;
export let database: TestDatabase;
export let store: Store;
export let counted: Counted;
/** Of copies, which take long, only what may leave something is tried otherwise. */
const EXHAUSTIVE = process.env['LONGSHORE_TEST_EXHAUSTIVE'] === 'yes';
const environment = { ...process.env };
let before: string[];

/** Registers the backend with its failures, and counts what is there before the tests of a file. */
export function useFaults(): void {
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'longshore-refused-'));
    const [home, temporary] = [join(place, 'home'), join(place, 'tmp')];
    for (const directory of [home, temporary]) await mkdir(directory, { mode: 0o700 });
    const installation = testInstallation();
    Object.assign(process.env, { LONGSHORE_HOME: home, TMPDIR: temporary, LONGSHORE_INSTALLATION: installation, LONGSHORE_HOST_ID: 'test-host' });
    database = await createTestDatabase();
    store = await openStore({ url: database.url, log, poolSize: 1 });
    registerSandboxBackend(BACKEND, ({ store: opened, ...parts }) =>
      createDockerSandboxes({ ...parts, store: faults.store(opened), engine: faults.engine(createEngine(parts.config.DOCKER_HOST)) }),
    );
    counted = { installation, databaseUrl: database.url, directories: [home, temporary] };
    // Opened once: what is kept for all that follow, such as a connection to the database, is there from now on.
    await (await open()).destroy();
    await store.sandboxes.list({});
    for (const { sandboxId } of await store.sandboxes.list({})) await store.sandboxes.remove(sandboxId);
    before = await takeCensus(counted);
  });
  afterAll(async () => {
    process.env = environment;
    await store[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    await rm(place, { recursive: true, force: true });
  });
  afterEach(() => {
    faults.arm();
    faults.onCall = () => undefined;
  });
}

export const open = (options: OpenSandboxOptions = {}) => openSandbox({ backend: BACKEND, databaseUrl: database.url, log, ...options });
export const nothingLeft = (what: string) => expectNothingLeft(counted, before, what);
export const refused = async (opening: Promise<unknown>, error: object) => expect(opening).rejects.toMatchObject(error);
export const worker = (): Sandboxes =>
  createDockerSandboxes({ config: loadConfig(), log, store: faults.store(store), engine: faults.engine(createEngine(loadConfig().DOCKER_HOST)) });

/** What is made well, in spite of the fault, is ended as a user would. */
export async function endAll(sandboxes: Sandboxes): Promise<void> {
  for (const { snapshotId } of await store.snapshots.list({})) await sandboxes.removeSnapshot(snapshotId);
  for (const { sandboxId, state } of await store.sandboxes.list({})) {
    if (state !== 'destroyed') await sandboxes.destroy(sandboxId);
    await store.sandboxes.remove(sandboxId);
  }
}

/** Makes each call of `work` fail once, in each way; whatever it makes of that, `work` leaves nothing when it rejects. */
export async function failEverywhere(
  work: () => Promise<unknown>,
  end: () => Promise<unknown>,
  { check = nothingLeft, which = 'all' }: { check?: (what: string) => Promise<void>; which?: 'all' | 'lasting' } = {},
): Promise<number> {
  faults.arm();
  await work();
  const ways = waysToFail(faults.calls, EXHAUSTIVE ? 'all' : which);
  await end();
  let rejected = 0;
  for (const { number, name, when } of ways) {
    faults.arm(number, when);
    const isDone = await work().then(
      () => true,
      () => false,
    );
    faults.arm();
    if (isDone) await end();
    else rejected += 1;
    await check(`${when} call ${number}, ${name}`);
  }
  return rejected;
}
