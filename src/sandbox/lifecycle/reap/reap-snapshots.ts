import type { DockerContext } from '../base/docker-context.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';

/** Removes this host's snapshots that were never finished, and snapshots without a name that are too old or whose sandbox does not exist any more. */
export async function reapSnapshots(context: DockerContext, copyGraceMs: number): Promise<void> {
  const { snapshots, rows, hostId, snapshotMaxAgeMs, log } = context;
  for (const { snapshotId, sandboxId, name, ready, createdAt } of await snapshots.list({ hostId })) {
    const ageMs = Date.now() - Date.parse(createdAt);
    const sandbox = await rows.get(sandboxId);
    const isGone = sandbox === undefined || sandbox.state === 'destroyed';
    const isOver = ready ? name === undefined && (isGone || ageMs >= snapshotMaxAgeMs) : ageMs >= copyGraceMs;
    if (!isOver) continue;
    await removeSnapshot(context, snapshotId);
    log.info({ snapshotId, sandboxId }, 'snapshot reaped');
  }
}
