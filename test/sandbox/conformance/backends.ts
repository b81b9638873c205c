import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../src/platform/config.ts';
import type { SandboxOptions } from '../../../src/contracts/agent.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createSandboxes } from '../../../src/sdk/backends.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { createTestSandboxes } from '../lifecycle/support.ts';

/** A backend under test with one fresh sandbox; disposing it removes everything. */
export interface Backend {
  sandboxes: Sandboxes;
  handle: WorkerHandle;
  sandboxId: string;
  [Symbol.asyncDispose](): Promise<void>;
}
type NamedBackend = [name: string, open: () => Promise<Backend>];

/** Every backend that has to keep the rules, by name. `LONGSHORE_CONFORMANCE_BACKEND` names one alone: as `LONGSHORE_SANDBOX_BACKEND` does, or `docker-gvisor`. */
export const BACKENDS: NamedBackend[] = chosen();

function chosen(): NamedBackend[] {
  const own = process.env['LONGSHORE_CONFORMANCE_BACKEND'];
  if (own === 'docker') return [['docker', () => openDocker({})]];
  const gvisor: NamedBackend = ['docker with gVisor', () => openDocker({ runtime: 'runsc' })];
  if (own === 'docker-gvisor') return [gvisor];
  if (own) return [[own, () => openBackend(own)]];
  return [['docker', () => openDocker({})], ...(process.env['LONGSHORE_TEST_GVISOR'] === 'yes' ? [gvisor] : []), ['local', () => openBackend('local')]];
}

async function openDocker(options: SandboxOptions): Promise<Backend> {
  const made = await createTestSandboxes();
  const owner = made.newOwner();
  const { handle } = await made.sandboxes.open(owner, options);
  return { sandboxes: made.sandboxes, handle, sandboxId: owner.sandboxId, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

/** One of any backend, in an installation and a home of its own. */
export async function openBackend(name: string): Promise<Backend> {
  const home = await mkdtemp(join(tmpdir(), 'longshore-backend-'));
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  const database = await createTestDatabase();
  const store = await openStore({ url: database.url, log });
  const config = { ...loadConfig(), LONGSHORE_SANDBOX_BACKEND: name, LONGSHORE_HOME: home, LONGSHORE_HOST_ID: 'test-host' };
  const sandboxes = await createSandboxes({ config, store, log });
  const owner = { sandboxId: 'sbx_conformance', tenantId: 'tenant' };
  const { handle } = await sandboxes.open(owner, {});
  return {
    sandboxes,
    handle,
    sandboxId: owner.sandboxId,
    async [Symbol.asyncDispose]() {
      await sandboxes.destroy(owner.sandboxId);
      await sandboxes[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}
