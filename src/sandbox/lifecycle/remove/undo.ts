import { cleanUp } from '../../../platform/clean-up.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { destroy } from './destroy.ts';

/** Removes a sandbox that the current call has made, and its row. */
export async function undo(context: DockerContext, sandboxId: string): Promise<void> {
  const { rows, inTurn, log } = context;
  let isDestroyed = false;
  const remove = async () => {
    // Not again once its row is gone: another sandbox may have got its id.
    if (!isDestroyed) await inTurn(sandboxId, () => destroy(context, sandboxId));
    isDestroyed = true;
    const row = await rows.get(sandboxId);
    if (row?.state === 'destroyed') await rows.withdraw(sandboxId, row.generation);
  };
  await cleanUp(remove, { log, what: 'a sandbox that was refused', sandboxId });
}
