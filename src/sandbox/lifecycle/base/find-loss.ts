import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from './docker-context.ts';
import { describeLoss, type FilesOf, type LostExec } from './describe-loss.ts';
import { startKnown, stopKnown } from './moves.ts';
import { pause } from '../../../common/pause.ts';

/** Interval at which the row is read while a new supervisor does not answer. Milliseconds. */
const CHANGE_POLL_MS = 500;

/**
 * Reads from the new supervisor's journal which commands ended with the old container. Undefined when the row was changed meanwhile: another worker was
 * faster, and may have frozen the sandbox.
 */
export async function findLoss(
  context: DockerContext,
  row: SandboxRow,
  loss: { cause: string; filesLost: boolean; filesOf?: FilesOf; expected: boolean },
): Promise<{ lost?: string } | undefined> {
  const execs = await unlessChanged(context, row, askForLoss(context, row)).catch(async (error: unknown) => {
    await stopAgain(context, row);
    throw error;
  });
  if (execs === undefined) return undefined;
  const lost = describeLoss({ ...loss, execs });
  return lost === undefined ? {} : { lost };
}

/** Whether another caller has changed the row; an error of the engine may be caused by that. */
export async function wasChanged({ rows }: DockerContext, { sandboxId, generation }: SandboxRow): Promise<boolean> {
  return (await rows.get(sandboxId))?.generation !== generation;
}

/** Asks a second time, because the first attempt may use a connection of operations that fail now, since the old container has ended. */
async function askForLoss({ connections }: DockerContext, row: SandboxRow): Promise<LostExec[]> {
  try {
    return await connections.lostExecs(row);
  } catch (error) {
    if (!isFailure(error, 'SANDBOX_LOST') && !isFailure(error, 'SANDBOX_UNREACHABLE')) throw error;
    connections.closeUnlessUsed(row.sandboxId);
    return connections.lostExecs(row);
  }
}

async function unlessChanged<T>(context: DockerContext, row: SandboxRow, answer: Promise<T>): Promise<T | undefined> {
  for (;;) {
    const first = await Promise.race([answer.then((value) => ({ value })), pause(CHANGE_POLL_MS)]);
    if (first !== undefined) return first.value;
    if (!(await wasChanged(context, row))) continue;
    answer.catch(() => undefined);
    return undefined;
  }
}

/** Stops a container that was started although its row does not say `running`: no process would notice that it runs. */
async function stopAgain(context: DockerContext, row: SandboxRow): Promise<void> {
  const { rows, log } = context;
  try {
    if (!(await stopKnown(context, row))) return;
    // Another worker may have settled it as running at the same time.
    const now = await rows.get(row.sandboxId);
    if (now?.state === 'running') await startKnown(context, now, row.containerName);
  } catch (error) {
    log.warn({ sandboxId: row.sandboxId, err: error }, 'a container that is no longer needed may still run');
  }
}
