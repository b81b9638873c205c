import type { SandboxOptions } from '../../contracts/agent.ts';
import { readEnvironment } from '../../platform/config.ts';
import { resolveReferences } from '../../sandbox/api/references.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import { printError, type Cli } from '../output/cli.ts';
import { checkVisit } from './held.ts';
import { restAgain } from './rest-again.ts';
import { findSandbox, withSandboxes } from './with-sandboxes.ts';

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
