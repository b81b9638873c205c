import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { destroy } from './destroy.ts';
import { removeIdleHolder } from '../base/holder.ts';
import { removeContents } from './remove-contents.ts';

/**
 * Removes the row, container and volume that a failed open has made, unless another caller uses them.
 * @param found the row as the open found it, before it had a container
 */
export async function withdraw(context: DockerContext, found: SandboxRow): Promise<void> {
  const { inTurn, rows, log } = context;
  const { sandboxId } = found;
  let isOurs: boolean | undefined;
  const remove = () =>
    inTurn(sandboxId, async () => {
      isOurs = isOurs === true || (await withdrawRow(context, found));
      // What a later open has made has the same names, and what is left of this one it takes over or removes.
      if (isOurs && (await rows.get(sandboxId)) === undefined) await removeContents(context, found);
    });
  await cleanUp(remove, { log, what: 'what a refused open has made', sandboxId });
  // The database is unavailable. Without a conversation no other caller knows the id, and the row expires.
  if (isOurs === undefined && found.conversationId === undefined) {
    await cleanUp(() => removeContents(context, found), { log, what: 'what a refused open has made', sandboxId });
  }
  await removeIdleHolder(context);
}

/** Removes a row that an open has inserted although the database's answer was lost. It has no container yet. */
export async function withdrawUnseen({ rows, log }: DockerContext, sandboxId: string): Promise<void> {
  const remove = async () => {
    const row = await rows.get(sandboxId);
    if (row?.state === 'creating' && row.generation === 1) await rows.withdraw(sandboxId, row.generation);
  };
  await cleanUp(remove, { log, what: 'the row of a refused open', sandboxId });
}

/** Removes the row first: then no caller finds the sandbox, and the reaper removes what a crash leaves. False when another caller uses the sandbox. */
async function withdrawRow(context: DockerContext, found: SandboxRow): Promise<boolean> {
  const { rows } = context;
  const now = await rows.get(found.sandboxId);
  // The caller that destroyed it may have looked for the container before it was made.
  if (now?.state === 'destroyed') await destroy(context, found.sandboxId);
  if (now === undefined) return true;
  return isUnused(context, found, now) && (await rows.withdraw(found.sandboxId, now.generation));
}

function isUnused({ work }: DockerContext, found: SandboxRow, now: SandboxRow): boolean {
  if (now.state === 'creating') return now.generation === found.generation;
  // It was started, and did not answer. Other processes know the sandbox of a conversation, and may use it by now; it goes on with the next attempt.
  const isKnownHereAlone = found.conversationId === undefined && !work.isUnderWay(found.sandboxId);
  return now.state === 'running' && now.generation === found.generation + 1 && isKnownHereAlone;
}
