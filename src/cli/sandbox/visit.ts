import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import { printError, type Cli } from '../output/cli.ts';
import { checkVisit } from '../../sandbox/visits/held.ts';
import { openVisited } from '../../sandbox/visits/open-visited.ts';
import { restAgain } from '../../sandbox/visits/rest-again.ts';
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
    await checkVisit(desk, row, { force });
    const { handle, lost } = await openVisited(desk.sandboxes, row);
    if (lost !== undefined) printError(cli, `${row.sandboxId}: ${lost}`);
    try {
      await work(handle);
    } finally {
      await restAgain(desk, row, handle);
    }
  });
}
