import type { Config } from '../../platform/config.ts';
import { failure } from '../../contracts/errors.ts';
import { createLogger } from '../../platform/log.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import type { Cli } from '../output/cli.ts';

/** The resources of the commands about sandboxes. */
export interface Desk {
  config: Config;
  store: Store;
  sandboxes: Sandboxes;
}

/** Opens database and engine for one piece of work and always closes them. */
export async function withSandboxes<T>(cli: Cli, work: (desk: Desk) => Promise<T>): Promise<T> {
  const config = cli.config();
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  // Loaded here, since other commands need neither of them.
  const [{ openStore }, { createSandboxes }] = await Promise.all([import('../../store/open-store.ts'), import('../../sdk/backends.ts')]);
  await using store = await openStore({ url: config.DATABASE_URL, log, poolSize: 3, blobs: config, migrate: config.LONGSHORE_MIGRATE });
  await using sandboxes = await createSandboxes({ config, store, log, role: 'visitor' });
  return await work({ config, store, sandboxes });
}

/** The sandbox with that id, or the sandbox of the conversation with that id. @throws SANDBOX_NOT_FOUND */
export async function findSandbox({ store }: Pick<Desk, 'store'>, id: string): Promise<SandboxRow> {
  const row = (await store.sandboxes.get(id)) ?? (await store.sandboxes.ofConversation(id));
  if (row) return row;
  throw failure('SANDBOX_NOT_FOUND', { sandboxId: id });
}
