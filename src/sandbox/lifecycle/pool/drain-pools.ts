import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { destroy } from '../remove/destroy.ts';

/** Removes the warm sandboxes of this host that no worker keeps any more: their workers have ended, or their template has changed. */
export async function drainPools(context: DockerContext): Promise<void> {
  const { poolRows, hostId } = context;
  for (const row of await poolRows.unowned(hostId)) await retire(context, row, 'no worker keeps its pool any more');
  await poolRows.forget(hostId);
}

/** Removes a warm sandbox unless it was claimed meanwhile: then false. If this process dies during that, the reaper finishes the removal. */
export async function retire(context: DockerContext, { sandboxId }: SandboxRow, why: string): Promise<boolean> {
  if (!(await context.poolRows.retire(sandboxId))) return false;
  context.log.info({ sandboxId, why }, 'warm sandbox removed');
  await destroy(context, sandboxId);
  return true;
}
