import type { SandboxOptions } from '../../../contracts/agent.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import type { CopyRequest } from '../../api/snapshots.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { destroy } from '../remove/destroy.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';
import { restoreSnapshot } from './restore.ts';
import { takeSnapshot } from './snapshot.ts';

/**
 * Makes a sandbox with the files of another one as they are now, and options of its own. Does nothing when the owner's sandbox exists, so that this may be repeated
 * after a crash. An attempt that has died may have left the other one frozen; a repeated one wakes it.
 */
export async function copyFor(context: DockerContext, sandboxId: string, { owner, options, isRepeated }: CopyRequest): Promise<void> {
  if (!(await isMade(context, owner.sandboxId))) await copy(context, sandboxId, { owner, options });
  if (isRepeated) await wakeAgain(context, sandboxId);
}

/** The copy of an earlier attempt may have expired since. */
async function isMade(context: DockerContext, sandboxId: string): Promise<boolean> {
  const row = await context.rows.get(sandboxId);
  if (row?.state !== 'destroyed') return row !== undefined;
  await context.inTurn(sandboxId, () => destroy(context, sandboxId));
  await context.rows.remove(sandboxId);
  return false;
}

async function copy(context: DockerContext, sandboxId: string, { owner, options }: Pick<CopyRequest, 'owner' | 'options'>): Promise<void> {
  const { memoryVolume: _, ...files } = await context.inTurn(sandboxId, () => takeSnapshot(context, sandboxId));
  try {
    await restoreSnapshot(context, { ...files, options: { ...options } satisfies SandboxOptions }, owner);
  } catch (error) {
    // Another attempt was faster.
    if ((await context.rows.get(owner.sandboxId)) === undefined) throw error;
  } finally {
    const about = { log: context.log, what: 'the copy that a sandbox was made of', snapshotId: files.snapshotId };
    await cleanUp(() => removeSnapshot(context, files.snapshotId), about);
  }
}

async function wakeAgain(context: DockerContext, sandboxId: string): Promise<void> {
  const row = await context.rows.get(sandboxId);
  if (row?.state === 'frozen' && row.paused === true) await context.inTurn(sandboxId, () => bringUpSandbox(context, sandboxId, 'wake'));
}
