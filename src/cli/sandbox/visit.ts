import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import { EXIT, printError, type Cli } from '../output/cli.ts';
import { checkVisit } from '../../sandbox/visits/held.ts';
import { openVisited } from '../../sandbox/visits/open-visited.ts';
import { restAgain } from '../../sandbox/visits/rest-again.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import { findSandbox, withSandboxes } from './with-sandboxes.ts';

export interface Visit {
  /** Continue even when this affects the conversation that has the sandbox. */
  force: boolean;
}

/** Why a visit has to end before its work is done. */
export interface Leaving {
  /** Nothing reads our output any more. */
  readerGone: AbortSignal;
  /** Ctrl-C, a closed terminal, or a service manager. */
  interrupted: AbortSignal;
}

/**
 * Works in a sandbox. The sandbox wakes for that and returns to its former tier afterwards, unless its conversation has started to use it or
 * something that would end runs in it; also when a signal of `leaving` ends the work. A second Ctrl-C ends the process at once, unless the work takes it.
 */
export async function visit(cli: Cli, id: string, { force }: Visit, work: (handle: SandboxHandle, leaving: Leaving) => Promise<void>): Promise<void> {
  const gone = new AbortController();
  const interrupted = new AbortController();
  const releaseReader = cli.onReaderGone(() => gone.abort());
  const releaseInterrupts = cli.onInterrupt(() => {
    interrupted.abort();
    releaseInterrupts();
  });
  await withSandboxes(cli, async (desk) => {
    const row = await findSandbox(desk, id);
    const check = async (found: SandboxRow) => checkVisit(desk, found, { force });
    await check(row);
    // A pause may begin while the visit lasts.
    const mayWake = async () => check((await desk.store.sandboxes.get(row.sandboxId)) ?? row);
    const { handle, lost } = await openVisited(desk.sandboxes, row, { mayWake }).catch(async (error: unknown) => {
      // It may have woken before that.
      await restAgain(desk, row, undefined).catch(() => undefined);
      throw error;
    });
    if (lost !== undefined) printError(cli, `${row.sandboxId}: ${lost}`);
    try {
      if (interrupted.signal.aborted) cli.exitCode = EXIT.interrupted;
      else await work(handle, { readerGone: gone.signal, interrupted: interrupted.signal });
    } finally {
      await restAgain(desk, row, handle);
    }
  }).finally(() => {
    releaseReader();
    releaseInterrupts();
  });
}
