import { checkDatabaseUrl, loadConfig, type Config } from '../platform/config.ts';
import { createLogger, type Logger } from '../platform/log.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { createSandboxes } from './backends.ts';
import type { WhereOptions } from './option-types.ts';

/** What the operations on one sandbox use. */
export interface ControlParts {
  store: Store;
  sandboxes: Sandboxes;
}

/** The open database and engine. The caller disposes them. */
export interface OpenParts extends ControlParts, AsyncDisposable {
  config: Config;
  log: Logger;
  tenantId: string;
}

/** @param role as for a backend: a visitor does not serve egress */
export async function openParts(options: WhereOptions, role: 'worker' | 'visitor'): Promise<OpenParts> {
  const { tenantId = 'default', backend, databaseUrl } = options;
  const config = withBackend(loadConfig(), backend);
  const log = options.log ?? createLogger({ LONGSHORE_LOG_LEVEL: 'warn' });
  const store = await openStore({
    url: checkDatabaseUrl(config, databaseUrl ?? config.DATABASE_URL),
    log,
    poolSize: 2,
    blobs: config,
    migrate: config.LONGSHORE_MIGRATE,
  });
  try {
    const sandboxes = await createSandboxes({ config, store, log, role });
    const dispose = async () => {
      try {
        await sandboxes[Symbol.asyncDispose]();
      } finally {
        await store[Symbol.asyncDispose]();
      }
    };
    return { config, log, tenantId, store, sandboxes, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

function withBackend(config: Config, backend: string | undefined): Config {
  return backend === undefined ? config : { ...config, LONGSHORE_SANDBOX_BACKEND: backend };
}
