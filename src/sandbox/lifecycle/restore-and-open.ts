import { isFailure } from '../../contracts/errors.ts';
import { cleanUp } from '../../platform/clean-up.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { OpenedSandbox, SandboxOwner } from '../api/sandbox.ts';
import { untilRoom, type Waiting } from '../api/until-room.ts';
import type { DockerContext } from './base/docker-context.ts';
import { checkId } from './base/own-ids.ts';
import { findToRestore, restoreSnapshot } from './copies/restore.ts';
import { openKnown } from './open-known.ts';
import { undo } from './remove/undo.ts';

/** Longer than the time between two tries of one that waits. */
const KEPT_MS = 60_000;

/** Makes a sandbox of a snapshot and opens it, when there are memory and disk for it. One that fails leaves nothing. */
export async function restoreAndOpen(context: DockerContext, snapshotId: string, owner: SandboxOwner, waiting: Waiting = {}): Promise<OpenedSandbox> {
  const { sandboxId } = owner;
  checkId(sandboxId);
  let isMade = false;
  try {
    const found = await untilRoom(() => findToRestore(context, snapshotId, owner), waiting);
    await restoreSnapshot(context, found, owner);
    isMade = true;
    return await openRestored(context, owner, found.options, waiting);
  } catch (error) {
    if (isMade) await undo(context, sandboxId);
    // Who comes again has another id; this one would stand before others for half a minute more.
    await cleanUp(() => context.roomQueue.leave(sandboxId), { log: context.log, what: 'the place of a refused restore in the queue', sandboxId });
    throw error;
  }
}

/** While it waits for memory, its files wait on this host, and it does not expire. */
async function openRestored(
  context: DockerContext,
  { sandboxId, ttlMs }: SandboxOwner,
  options: SandboxRow['options'],
  waiting: Waiting,
): Promise<OpenedSandbox> {
  const prolong = async (leastMs: number) => ttlMs !== undefined && context.rows.prolong(sandboxId, Math.max(ttlMs, leastMs));
  const attempt = async () => {
    waiting.signal?.throwIfAborted();
    try {
      return await openKnown(context, { sandboxId, options }, { cause: 'it was restored from a snapshot' });
    } catch (error) {
      if (isFailure(error, 'HOST_FULL')) await prolong(KEPT_MS);
      throw error;
    }
  };
  const opened = await untilRoom(attempt, waiting);
  await prolong(0);
  waiting.signal?.throwIfAborted();
  return opened;
}
