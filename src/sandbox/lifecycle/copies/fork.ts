import { randomBytes } from 'node:crypto';
import { failure } from '../../../contracts/errors.ts';
import { makeId } from '../../../contracts/ids.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { removeSnapshot } from '../remove/remove-snapshot.ts';
import { restoreSnapshot } from './restore.ts';
import { takeSnapshot } from './snapshot.ts';
import { undo } from '../remove/undo.ts';
import { checkDisk } from '../room/wait-for-disk.ts';
import { showValue } from '../../../common/show-value.ts';

const MOST = 32;

/** The source is frozen for one copy only; all forks are made from that copy. When one fork fails, all are removed. */
export async function fork(context: DockerContext, sandboxId: string, count: number, expiry: { ttlMs?: number } = {}): Promise<string[]> {
  if (!Number.isInteger(count) || count < 1 || count > MOST) {
    throw failure('INVALID_ARGUMENT', { what: 'count', problem: showValue(count), fix: `Use a whole number from 1 to ${MOST}` });
  }
  const { options, tenantId } = await ownRow(context, sandboxId);
  await checkDisk(context, { sandboxId: newId(), tenantId }, options);
  const source = await context.inTurn(sandboxId, () => takeSnapshot(context, sandboxId));
  const forks: string[] = [];
  try {
    while (forks.length < count) {
      const forkId = newId();
      await restoreSnapshot(context, source, { sandboxId: forkId, tenantId: source.tenantId, ...expiry });
      forks.push(forkId);
    }
    return forks;
  } catch (error) {
    for (const forkId of forks) await undo(context, forkId);
    throw error;
  } finally {
    const about = { log: context.log, what: 'the copy that forks were made of', snapshotId: source.snapshotId };
    await cleanUp(() => removeSnapshot(context, source.snapshotId), about);
  }
}

function newId(): string {
  return makeId('sbx', Date.now(), () => randomBytes(4).readUInt32BE(0) / 2 ** 32);
}
