import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { anySignal } from '../../../common/any-signal.ts';
import { failure } from '../../../contracts/errors.ts';
import type { BackupTry } from '../../../store/blobs/backups.ts';
import type { StoredBlob } from '../../../store/blobs/blob-store.ts';
import type { SandboxBackup, SandboxPlace, SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxCheckpoint } from '../../api/checkpoints.ts';
import type { BackUpOptions, BackUpOutcome } from '../../api/host-sandboxes.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { removeBlob, removeBackup } from '../remove/remove-blobs.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';

/**
 * Stores the files of a sandbox as they are now in the blob store, and names them in its row: a checkpoint, of which only what has changed since the last backup is
 * sent. The row names the new blobs when they are complete, and what it does not need any more is removed after that.
 */
export async function backUp(context: DockerContext, attempt: BackupTry, { keep, signal }: BackUpOptions): Promise<BackUpOutcome> {
  const { backups, work, blobs, log } = context;
  const { sandboxId } = attempt;
  const row = await ownRow(context, sandboxId);
  if (row.state === 'destroyed' || row.state === 'archived' || row.paused) return 'gone';
  if (row.state !== 'running') await context.inTurn(sandboxId, () => bringUpSandbox(context, sandboxId, 'wake'));
  const key = `backup.${randomBytes(8).toString('hex')}`;
  const { checkpoint } = await work.attend(row, (connection) => connection.createCheckpoint({ key, keep }));
  const newest = row.backup?.parts.at(-1);
  const before = newest?.blob.blobId;
  if (newest?.to === checkpoint.number && newest.at === checkpoint.at) {
    return (await backups.finish(attempt, placeOf(context, row), { before })) ? 'unchanged' : 'superseded';
  }
  const { blob, ...sent } = await upload(context, row, checkpoint, signal);
  const backup = joined(row.backup, checkpoint, { ...sent, blob });
  if (!(await isStored(context, attempt, { before, backup, place: placeOf(context, row) }))) {
    await removeBlob({ blobs, log }, blob);
    return 'superseded';
  }
  await removeBackup({ blobs, log }, { parts: (row.backup?.parts ?? []).filter((part) => !backup.parts.includes(part)) });
  log.info({ sandboxId, bytes: blob.bytes, files: backup.files, parts: backup.parts.length }, 'sandbox backed up');
  return 'stored';
}

/** The container that has answered. */
function placeOf({ connections }: DockerContext, { sandboxId, fence }: SandboxRow): SandboxPlace {
  return { sandboxId, fence: connections.fence(sandboxId) ?? fence };
}

function joined(
  last: SandboxBackup | undefined,
  { number, at, files, bytes }: SandboxCheckpoint,
  sent: { since: number; bytes: number; blob: StoredBlob },
): SandboxBackup {
  const kept = (last?.parts ?? []).filter(({ to }) => to <= sent.since);
  return { at, files, bytes, parts: [...kept, { ...sent, to: number, at }] };
}

interface Stored {
  before: string | undefined;
  backup: SandboxBackup;
  place: SandboxPlace;
}

/** When the answer of the database is lost, the row says whether it names the blob. When it cannot be read, the blob is left to the reaper. */
async function isStored({ backups, rows }: DockerContext, attempt: BackupTry, { place, ...change }: Stored): Promise<boolean> {
  try {
    return await backups.finish(attempt, place, change);
  } catch {
    const ours = change.backup.parts.at(-1)?.blob.blobId;
    return (await rows.get(attempt.sandboxId))?.backup?.parts.at(-1)?.blob.blobId === ours;
  }
}

/** Sends the checkpoint from the sandbox to the blob store, at the pace of the slower one. The first of the two that fails ends the other. */
async function upload(
  { blobs, work, compress }: DockerContext,
  row: SandboxRow,
  checkpoint: SandboxCheckpoint,
  signal: AbortSignal,
): Promise<{ since: number; bytes: number; blob: StoredBlob }> {
  const packed = compress();
  const stopped = new AbortController();
  const given = anySignal([signal, stopped.signal]);
  const storing = blobs.put(packed);
  storing.catch(() => stopped.abort());
  const sending = work.attend(row, async (connection) => {
    const end = await connection.packCheckpoint(checkpoint, row.backup?.parts ?? [], (piece) => write(packed, piece, given), { signal: given });
    packed.end();
    return end;
  });
  sending.catch((error: unknown) => packed.destroy(error instanceof Error ? error : failure('INTERNAL', { problem: String(error) })));
  const blob = await storing;
  return { ...(await sending), blob };
}

async function write(packed: Writable, piece: Buffer, signal: AbortSignal): Promise<void> {
  if (!packed.write(piece)) await once(packed, 'drain', { signal });
}
