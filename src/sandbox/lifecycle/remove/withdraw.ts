import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import type { DockerContext } from '../base/context.ts';
import { destroy } from './destroy.ts';
import { removeIdleHolder } from '../base/holder.ts';
import { removeContents } from './remove-contents.ts';

/**
 * Removes what a refused open has made: row, container and volume, unless another caller has got further with them.
 * @param found the row as the open found it, with nothing behind it
 */
export async function withdraw(context: DockerContext, found: SandboxRow): Promise<void> {
  const { inTurn, log } = context;
  const { sandboxId } = found;
  let isOurs: boolean | undefined;
  const remove = () =>
    inTurn(sandboxId, async () => {
      isOurs = isOurs === true || (await withdrawRow(context, found));
      if (isOurs) await removeContents(context, found);
    });
  await cleanUp(remove, { log, what: 'what a refused open has made', sandboxId });
  // The database is away. Without a conversation no other caller knows the id, and the row expires.
  if (isOurs === undefined && found.conversationId === undefined) {
    await cleanUp(() => removeContents(context, found), { log, what: 'what a refused open has made', sandboxId });
  }
  await removeIdleHolder(context);
}

/** Removes the row that an open has inserted without learning of it, since the answer was lost. Nothing is behind it yet. */
export async function withdrawUnseen({ rows, log }: DockerContext, sandboxId: string): Promise<void> {
  const remove = async () => {
    const row = await rows.get(sandboxId);
    if (row?.state === 'creating' && row.generation === 1) await rows.withdraw(sandboxId, row.generation);
  };
  await cleanUp(remove, { log, what: 'the row of a refused open', sandboxId });
}

/** The row goes first: no caller finds the sandbox any more, and what a crash leaves behind is removed by the reaper. False when another caller has it. */
async function withdrawRow(context: DockerContext, found: SandboxRow): Promise<boolean> {
  const { rows } = context;
  const now = await rows.get(found.sandboxId);
  // The caller that destroyed it may have looked before its container was made.
  if (now?.state === 'destroyed') await destroy(context, found.sandboxId);
  if (now === undefined) return true;
  return isUnused(context, found, now) && (await rows.withdraw(found.sandboxId, now.generation));
}

function isUnused({ work, connections }: DockerContext, found: SandboxRow, now: SandboxRow): boolean {
  if (now.state === 'creating') return now.generation === found.generation;
  // It was started and does not answer.
  if (now.state !== 'running' || now.generation !== found.generation + 1 || work.isUnderWay(found.sandboxId)) return false;
  // Where this process is about to end, the sandbox of a conversation goes to another one.
  return found.conversationId === undefined || !connections.isClosed();
}
