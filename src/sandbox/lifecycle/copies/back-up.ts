import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { anySignal } from '../../../common/any-signal.ts';
import { failure } from '../../../contracts/errors.ts';
import type { BackupPart, BackupTry, SandboxBackup } from '../../../store/blobs/backups.ts';
import type { SandboxPlace, SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxCheckpoint } from '../../api/checkpoints.ts';
import type { BackUpOptions, BackUpOutcome } from '../../api/host-sandboxes.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import type { SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import { removeBlob, removeBackup } from '../remove/remove-blobs.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';

/**
 * Stores the files of a sandbox as they are now in the blob store, and names them in its row: a checkpoint, of which only what has changed since the last backup is
 * sent. The row names the new blobs when they are complete, and what it does not need any more is removed after that.
 */
export async function backUp(context: DockerContext, attempt: BackupTry, { keep, signal }: BackUpOptions): Promise<BackUpOutcome> {
  const { sandboxId } = attempt;
  const row = await ownRow(context, sandboxId);
  if (row.state === 'destroyed' || row.state === 'archived' || row.paused) return 'gone';
  if (row.state !== 'running') await context.inTurn(sandboxId, () => bringUpSandbox(context, sandboxId, 'copy'));
  const key = `backup.${randomBytes(8).toString('hex')}`;
  const { answer, place } = await ask(context, row, (connection) => connection.createCheckpoint({ key, keep }));
  const newest = row.backup?.parts.at(-1);
  if (newest?.to !== answer.checkpoint.number || newest.at !== answer.checkpoint.at)
    return store(context, attempt, { row, checkpoint: answer.checkpoint, signal });
  return (await context.backups.finish(attempt, place, { before: newest.blob.blobId })) ? 'unchanged' : 'superseded';
}

/** The answer, and the container that has given it: another one may take its place meanwhile. */
function ask<T>(
  { work, connections }: DockerContext,
  row: SandboxRow,
  operation: (connection: SupervisorConnection) => Promise<T>,
): Promise<{ answer: T; place: SandboxPlace }> {
  const { sandboxId, fence } = row;
  return work.attend(row, async (connection) => ({ answer: await operation(connection), place: { sandboxId, fence: connections.fence(sandboxId) ?? fence } }));
}

interface Storing {
  row: SandboxRow;
  checkpoint: SandboxCheckpoint;
  signal: AbortSignal;
}

async function store(context: DockerContext, attempt: BackupTry, storing: Storing): Promise<BackUpOutcome> {
  const { log } = context;
  const { parts = [] } = storing.row.backup ?? {};
  const { place, part } = await upload(context, storing);
  const { at, files, bytes } = storing.checkpoint;
  const backup = { at, files, bytes, parts: [...parts.filter(({ to }) => to <= part.since), part] };
  if (!(await isStored(context, attempt, { before: parts.at(-1)?.blob.blobId, backup, place }))) {
    await removeBlob(context, part.blob);
    return 'superseded';
  }
  await removeBackup(context, { parts: parts.filter((each) => !backup.parts.includes(each)) });
  log.info({ sandboxId: place.sandboxId, bytes: part.blob.bytes, files, parts: backup.parts.length }, 'sandbox backed up');
  return 'stored';
}

interface Stored {
  before: string | undefined;
  backup: SandboxBackup;
  place: SandboxPlace;
}

/** When the answer of the database is lost, the row may say that it names the blob. Otherwise the blob is left to the reaper: the row may name it a moment later. */
async function isStored({ backups, rows }: DockerContext, attempt: BackupTry, { place, ...change }: Stored): Promise<boolean> {
  try {
    return await backups.finish(attempt, place, change);
  } catch (error) {
    const ours = change.backup.parts.at(-1)?.blob.blobId;
    if ((await rows.get(attempt.sandboxId))?.backup?.parts.at(-1)?.blob.blobId === ours) return true;
    throw error;
  }
}

/** Sends the checkpoint from the sandbox to the blob store, at the pace of the slower one. The first of the two that fails ends the other. */
async function upload(context: DockerContext, { row, checkpoint, signal }: Storing): Promise<{ place: SandboxPlace; part: BackupPart }> {
  const packed = context.compress();
  // The blob store may not read it yet when the sandbox fails.
  packed.on('error', () => undefined);
  const stopped = new AbortController();
  const given = anySignal([signal, stopped.signal]);
  let first: { error: unknown } | undefined;
  const fail = (error: unknown) => {
    first ??= { error };
    stopped.abort();
    packed.destroy(error instanceof Error ? error : failure('INTERNAL', { problem: String(error) }));
    return undefined;
  };
  const storing = context.blobs.put(packed).catch(fail);
  const sending = ask(context, row, async (connection) => {
    const end = await connection.packCheckpoint(checkpoint, row.backup?.parts ?? [], writerTo(packed, given), { signal: given });
    packed.end();
    return end;
  }).catch(fail);
  const [blob, sent] = await Promise.all([storing, sending]);
  if (blob !== undefined && sent !== undefined) return { place: sent.place, part: { ...sent.answer, to: checkpoint.number, at: checkpoint.at, blob } };
  if (blob !== undefined) await removeBlob(context, blob);
  throw first?.error;
}

/** Waits once for all pieces that have come meanwhile. */
function writerTo(packed: Writable, signal: AbortSignal): (piece: Buffer) => Promise<void> {
  let draining: Promise<unknown> | undefined;
  return async (piece) => {
    if (!packed.write(piece)) draining ??= once(packed, 'drain', { signal }).finally(() => (draining = undefined));
    await draining;
  };
}
