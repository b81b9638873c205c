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
 * something that would end runs in it. The signal aborts when nothing reads our output any more; the sandbox returns to its tier then, too.
 */
export async function visit(cli: Cli, id: string, { force }: Visit, work: (handle: SandboxHandle, readerGone: AbortSignal) => Promise<void>): Promise<void> {
  const gone = new AbortController();
  const release = cli.onReaderGone(() => gone.abort());
  await withSandboxes(cli, async (desk) => {
    const row = await findSandbox(desk, id);
    await checkVisit(desk, row, { force });
    const { handle, lost } = await openVisited(desk.sandboxes, row);
    if (lost !== undefined) printError(cli, `${row.sandboxId}: ${lost}`);
    try {
      await work(handle, gone.signal);
    } finally {
      await restAgain(desk, row, handle);
    }
  }).finally(release);
}
