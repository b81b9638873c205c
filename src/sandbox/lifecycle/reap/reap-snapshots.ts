import type { DockerContext } from '../base/docker-context.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';

/** Removes snapshots that were never finished, and those without a name that are too old or whose sandbox does not exist any more; also those of lost hosts. */
export async function reapSnapshots(context: DockerContext, copyGraceMs: number): Promise<void> {
  const { snapshots, snapshotMaxAgeMs, log } = context;
  for (const { snapshotId, sandboxId } of await snapshots.over({ maxAgeMs: snapshotMaxAgeMs, unfinishedMs: copyGraceMs })) {
    await removeSnapshot(context, snapshotId);
    log.info({ snapshotId, sandboxId }, 'snapshot reaped');
  }
}
