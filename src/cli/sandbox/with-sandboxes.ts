import type { Config } from '../../platform/config.ts';
import { readEnvironment } from '../../platform/config.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { createLogger } from '../../platform/log.ts';
import { resolveReferences } from '../../sandbox/api/references.ts';
import type { SandboxHandle, Sandboxes } from '../../sandbox/api/sandbox.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { printError, type Cli } from '../output/cli.ts';
import { checkVisit } from './held.ts';
import { restAgain } from './rest-again.ts';

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
  await using store = await openStore({ url: config.DATABASE_URL, log, poolSize: 3, blobs: config });
  await using sandboxes = await createSandboxes({ config, store, log, role: 'visitor' });
  return await work({ config, store, sandboxes });
}

/** The sandbox with that id, or the sandbox of the conversation with that id. @throws SANDBOX_NOT_FOUND */
export async function findSandbox({ store }: Pick<Desk, 'store'>, id: string): Promise<SandboxRow> {
  const row = (await store.sandboxes.get(id)) ?? (await store.sandboxes.ofConversation(id));
  if (row) return row;
  throw failure('SANDBOX_NOT_FOUND', { sandboxId: id });
}

export interface Visit {
  /** Continue even when this affects the conversation that has the sandbox. */
  force: boolean;
}

/**
 * Works in a sandbox. The sandbox wakes for that and returns to its former tier afterwards, unless its conversation has started to use it or
 * something that would end runs in it.
 */
export async function visit(cli: Cli, id: string, { force }: Visit, work: (handle: SandboxHandle) => Promise<void>): Promise<void> {
  await withSandboxes(cli, async (desk) => {
    const row = await findSandbox(desk, id);
    await checkVisit(desk, row, force);
    const { sandboxId, conversationId, tenantId } = row;
    const owner = { sandboxId, tenantId, ...(conversationId !== undefined && { conversationId }) };
    const { handle, lost } = await desk.sandboxes.open(owner, optionsHere(row.options));
    if (lost !== undefined) printError(cli, `${sandboxId}: ${lost}`);
    try {
      await work(handle);
    } finally {
      await restAgain(desk, row, handle);
    }
  });
}

/** Leaves out secrets that this process's environment does not have; commands that need them run in the worker. */
function optionsHere(options: SandboxOptions): SandboxOptions {
  const { secrets = {}, ...rest } = options;
  const known = Object.entries(secrets).filter(([name, text]) => 'values' in resolveReferences({ [name]: text }, readEnvironment));
  return { ...rest, secrets: Object.fromEntries(known) };
}
