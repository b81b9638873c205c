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

/** What the commands about sandboxes work with. */
export interface Desk {
  config: Config;
  store: Store;
  sandboxes: Sandboxes;
}

/** Opens database and engine for one piece of work and lets go of them, whatever comes. */
export async function withSandboxes<T>(cli: Cli, work: (desk: Desk) => Promise<T>): Promise<T> {
  const config = cli.config();
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  // Loaded here: other commands need neither.
  const [{ openStore }, { createSandboxes }] = await Promise.all([import('../../store/open-store.ts'), import('../../sdk/backends.ts')]);
  await using store = await openStore({ url: config.DATABASE_URL, log, poolSize: 3, blobs: config });
  await using sandboxes = await createSandboxes({ config, store, log, role: 'visitor' });
  return await work({ config, store, sandboxes });
}

/** The sandbox of that id, or of the conversation of that id. @throws SANDBOX_NOT_FOUND */
export async function findSandbox({ store }: Pick<Desk, 'store'>, id: string): Promise<SandboxRow> {
  const row = (await store.sandboxes.get(id)) ?? (await store.sandboxes.ofConversation(id));
  if (row) return row;
  throw failure('SANDBOX_NOT_FOUND', { sandboxId: id });
}

export interface Visit {
  /** Even where the conversation that has it would notice. */
  force: boolean;
}

/**
 * Works in a sandbox, which wakes for that and rests again afterwards as it was found, unless its conversation has come to use it or
 * something runs in it that would end.
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

/** A secret that this process's environment lacks is not to be had here; commands that need it run in the worker. */
function optionsHere(options: SandboxOptions): SandboxOptions {
  const { secrets = {}, ...rest } = options;
  const known = Object.entries(secrets).filter(([name, text]) => 'values' in resolveReferences({ [name]: text }, readEnvironment));
  return { ...rest, secrets: Object.fromEntries(known) };
}
