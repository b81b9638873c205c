import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/context.ts';
import { destroy } from '../remove/destroy.ts';

/** Removes the warm sandboxes of this host that nobody keeps any more: their workers are gone, or their template has changed. */
export async function drainPools(context: DockerContext): Promise<void> {
  const { poolRows, hostId } = context;
  for (const row of await poolRows.unowned(hostId)) await retire(context, row, 'nobody keeps it any more');
  await poolRows.forget(hostId);
}

/** Removes one that was not claimed meanwhile. Should this process die in the middle, the reaper does the rest. */
export async function retire(context: DockerContext, { sandboxId }: SandboxRow, why: string): Promise<void> {
  if (!(await context.poolRows.retire(sandboxId))) return;
  context.log.info({ sandboxId, why }, 'warm sandbox removed');
  await destroy(context, sandboxId);
}
