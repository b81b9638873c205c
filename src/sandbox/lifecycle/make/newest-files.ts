import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxBackup } from '../../../store/blobs/backups.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { bringBackFiles } from './bring-back.ts';
import type { FilesOf } from '../base/describe-loss.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { layOut, type LaidOut } from './lay-out.ts';
import { partsOfSnapshot } from './parts-of-snapshot.ts';

/** Makes a volume with the newest files that there are of a sandbox, to replace a lost volume: of a snapshot that this host can have, or of its backup. Undefined when there are none. */
export async function newestFiles(context: DockerContext, row: SandboxRow): Promise<(LaidOut & { filesOf: FilesOf }) | undefined> {
  const { snapshots, hostId } = context;
  const { sandboxId, tenantId, createdAt, backup, backedUpAt = backup?.at ?? '' } = row;
  // One with a name may be of an earlier sandbox with the same id.
  const own = (await snapshots.list({ sandboxId, tenantId })).filter((each) => each.createdAt >= createdAt);
  const found = own.findLast((each) => each.ready && (each.hostId === hostId || each.stored !== undefined));
  if (backup !== undefined && (found === undefined || found.createdAt < backedUpAt)) {
    return fromBackup(context, row, backup);
  }
  const parts = found && (await partsOfSnapshot(context, found));
  if (found === undefined || parts === undefined) return undefined;
  try {
    const laidOut = await layOut(context, row, { files: parts.files });
    return { ...laidOut, filesOf: { what: 'snapshot', at: found.createdAt } };
  } catch (error) {
    // It was removed while it was read.
    if (!isFailure(error, 'SNAPSHOT_NOT_FOUND')) throw error;
    return newestFiles(context, row);
  }
}

async function fromBackup(context: DockerContext, row: SandboxRow, backup: SandboxBackup): Promise<LaidOut & { filesOf: FilesOf }> {
  const { sandboxId } = row;
  try {
    const laidOut = await layOut(context, row, { files: (to) => bringBackFiles(context, sandboxId, backup, to) });
    return { ...laidOut, filesOf: { what: 'backup', at: backup.at } };
  } catch (error) {
    const now = (await context.rows.get(sandboxId))?.backup;
    // A newer one has taken its place while it was read.
    if (!isFailure(error, 'BACKUP_DAMAGED') || now === undefined || now.at === backup.at) throw error;
    return fromBackup(context, row, now);
  }
}
