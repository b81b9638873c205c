import { cleanUp } from '../../../platform/clean-up.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { destroy } from './destroy.ts';

/** Removes a sandbox that the current call has made, and its row. */
export async function undo(context: DockerContext, sandboxId: string): Promise<void> {
  const { rows, inTurn, log } = context;
  const remove = async () => {
    await inTurn(sandboxId, () => destroy(context, sandboxId));
    const row = await rows.get(sandboxId);
    if (row?.state === 'destroyed') await rows.withdraw(sandboxId, row.generation);
  };
  await cleanUp(remove, { log, what: 'a sandbox that was refused', sandboxId });
}
