import { Client } from 'pg';
import Docker from 'dockerode';
import { loadConfig, type Config } from '../../../src/platform/config.ts';
import type { RunOptions } from '../../../src/sandbox/api/commands.ts';
import type { SandboxHandle, SandboxOwner } from '../../../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createDockerSandboxes, type DockerSandboxesOptions } from '../../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestDatabase, testInstallation } from '../../support/databases.ts';
import { endSandboxes } from '../../support/end-sandboxes.ts';

/** Sandboxes of an installation of their own on the real engine and a real database; disposing it removes everything. */
export interface TestSandboxes {
  docker: Docker;
  store: Store;
  databaseUrl: string;
  installation: string;
  sandboxes: Sandboxes;
  /** A second worker of the same installation. */
  another(options?: Partial<DockerSandboxesOptions>): Sandboxes;
  newOwner(): SandboxOwner;
  containerName(sandboxId: string): string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Everything is old enough to be reaped. */
const LONG_AGO_MS = -60_000;

let count = 0;

/** `config` and `terms` differ from what an installation has by itself. */
export async function createTestSandboxes({
  config: changes = {},
  terms = {},
}: { config?: Partial<Config>; terms?: NonNullable<DockerSandboxesOptions['terms']> } = {}): Promise<TestSandboxes> {
  const installation = testInstallation();
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  const database = await createTestDatabase();
  const store = await openStore({ url: database.url, log });
  const config: Config = { ...loadConfig(), LONGSHORE_INSTALLATION: installation, LONGSHORE_HOST_ID: 'test-host', ...changes };
  const docker = new Docker();
  const made: Sandboxes[] = [];
  const another = (options: Partial<DockerSandboxesOptions> = {}) => {
    const sandboxes = createDockerSandboxes({ config, store, log, terms, ...options });
    made.push(sandboxes);
    return sandboxes;
  };
  return {
    docker,
    store,
    databaseUrl: database.url,
    installation,
    sandboxes: another(),
    another,
    newOwner: () => ({ sandboxId: `sbx_${(count += 1)}`, tenantId: 'tenant' }),
    containerName: (sandboxId) => `${installation}-${sandboxId}`,
    async [Symbol.asyncDispose]() {
      for (const sandboxes of made) await sandboxes[Symbol.asyncDispose]();
      await endSandboxes(store, (hostId) => another({ config: { ...config, LONGSHORE_HOST_ID: hostId }, reapGraceMs: LONG_AGO_MS }));
      await store[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** For tests that put sandboxes to disk; the test set-up says when they are left out. */
export const describeWithGvisor = process.env['LONGSHORE_TEST_GVISOR'] === 'yes' ? describe : describe.skip;

/** The runtimes of this engine, for rules that hold in each. */
export const RUNTIMES: ('runc' | 'runsc')[] = process.env['LONGSHORE_TEST_GVISOR'] === 'yes' ? ['runc', 'runsc'] : ['runc'];

/** For tests of what the script does that engines start gVisor by. */
export const describeWithGvisorScript = process.env['LONGSHORE_TEST_GVISOR_SCRIPT'] === 'yes' ? describe : describe.skip;

/** What a command printed, without the last line break. */
export async function output(handle: SandboxHandle, command: string, options?: RunOptions): Promise<string> {
  const { stdout } = await handle.run(command, options);
  return stdout.text.trimEnd();
}

/** Asks again and again until the answer is yes. */
export async function until(question: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 180_000; !(await question());) {
    if (Date.now() > end) throw new Error(`not within 30 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** How many statements wait for the lock of another in the database of these sandboxes. With a connection of its own: a transaction sees no connections that are newer than its first look. */
export async function waitingForLocks({ databaseUrl }: Pick<TestSandboxes, 'databaseUrl'>): Promise<number> {
  const client = new Client(databaseUrl);
  await client.connect();
  const { rowCount } = await client.query("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  await client.end();
  return rowCount ?? 0;
}
