import { randomBytes } from 'node:crypto';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { CopyRequest, MadeCopy } from '../../api/snapshots.ts';
import { canCopyMemory } from '../base/can-copy-memory.ts';
import { ownRow, type DockerContext } from '../base/docker-context.ts';
import { jobsOf } from '../base/engine-parts.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import { isOwn, withOtherId, withUsableId } from '../base/own-ids.ts';
import { discard, layOut, type LaidOut } from '../make/lay-out.ts';
import { destroy } from '../remove/destroy.ts';
import { checkPlace } from '../room/place.ts';
import { rowOf } from '../room/row-of.ts';
import { checkDisk } from '../room/wait-for-disk.ts';
import { bringUpSandbox } from '../rest/bring-up-sandbox.ts';
import { bringBack } from '../rest/unarchive.ts';
import { readStill } from './hold-still.ts';
import { addCopy, memoryOfCopy, rowOfCopy } from './restore.ts';
import { withMemory } from './with-memory.ts';

/** The archive is read again when another caller has unpacked the sandbox meanwhile. */
const ATTEMPTS = 5;

/**
 * Makes the owner's sandbox as a copy of another one. Does nothing when it exists, so that this may be repeated after a crash; what a crash leaves has no row and is
 * removed by the reaper.
 */
export async function copySandboxTo(context: DockerContext, sandboxId: string, given: CopyRequest): Promise<MadeCopy | undefined> {
  const request = { ...given, owner: await withOwnId(context, given.owner) };
  const made = (await madeBefore(context, request.owner.sandboxId)) ?? (await copy(context, sandboxId, request));
  if (request.staysFrozen) await wakeAgain(context, sandboxId, request.staysFrozen);
  return made;
}

/** The id of the sandbox that the owner has, or will have. */
async function withOwnId(context: DockerContext, given: SandboxOwner): Promise<SandboxOwner> {
  const owner = withUsableId(given);
  const { sandboxId = owner.sandboxId } = (await rowOf(context, owner)) ?? {};
  const found = await context.rows.get(sandboxId);
  return found === undefined || isOwn(found, owner) ? { ...owner, sandboxId } : withOtherId(owner);
}

/** The copy of an earlier attempt may have expired since. */
async function madeBefore(context: DockerContext, sandboxId: string): Promise<MadeCopy | undefined> {
  const row = await context.rows.get(sandboxId);
  if (row?.state !== 'destroyed') return row && { processes: row.state === 'hibernated' };
  await context.inTurn(sandboxId, () => destroy(context, sandboxId));
  await context.rows.remove(sandboxId);
  return undefined;
}

async function copy(context: DockerContext, sandboxId: string, request: CopyRequest): Promise<MadeCopy | undefined> {
  const { rows, log } = context;
  const { owner } = request;
  const source = await ownRow(context, sandboxId);
  if (source.tenantId !== owner.tenantId) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  const options = { ...(request.options ?? source.options) };
  // What is in the archive may be copied on any host.
  if (source.state === 'archived') await checkPlace(context, { ...owner, mayMove: request.mayMove === true }, options);
  else await checkDisk(context, owner, options);
  const row = await rowOfCopy(context, owner, options);
  const laidOut = await layOutCopy(context, sandboxId, row, request.processes === true);
  if (!(await isStillWanted(context, request, laidOut))) return undefined;
  try {
    await addCopy(context, row, laidOut);
  } catch (error) {
    // Another attempt was faster.
    if ((await rows.get(owner.sandboxId)) === undefined) throw error;
  }
  log.info({ sandboxId: owner.sandboxId, of: sandboxId, memory: laidOut.containerId !== undefined }, 'sandbox copied');
  return { processes: (await rows.get(owner.sandboxId))?.state === 'hibernated' };
}

async function isStillWanted(context: DockerContext, { isWanted }: CopyRequest, laidOut: LaidOut): Promise<boolean> {
  let wanted = false;
  try {
    wanted = !isWanted || (await isWanted());
    return wanted;
  } finally {
    if (!wanted) await discard(context, laidOut);
  }
}

type NewRow = Awaited<ReturnType<typeof rowOfCopy>>;

/** An archived sandbox stays where it is. */
async function layOutCopy(context: DockerContext, sandboxId: string, row: NewRow, processes: boolean): Promise<LaidOut> {
  for (let count = 0; count < ATTEMPTS; count += 1) {
    const source = await ownRow(context, sandboxId);
    if (source.state !== 'archived') return context.inTurn(sandboxId, () => layOutStill(context, sandboxId, row, processes));
    const laidOut = await layOutArchived(context, source, row, processes);
    if (laidOut !== undefined) return laidOut;
  }
  throw failure('SANDBOX_CONFLICT', { sandboxId });
}

/** Undefined when another caller has unpacked the sandbox meanwhile and removed the archive. */
async function layOutArchived(
  context: DockerContext,
  { sandboxId, archive, generation }: SandboxRow,
  row: NewRow,
  processes: boolean,
): Promise<LaidOut | undefined> {
  if (archive === undefined) throw failure('INTERNAL', { problem: `sandbox ${sandboxId} has no archive` });
  const { files, memory } = archive;
  const takesMemory = processes && memory !== undefined && (await canCopyMemory(context));
  try {
    return await layOut(context, row, {
      files: (to) => bringBack(context, sandboxId, files, to),
      ofAnother: true,
      ...(takesMemory && { memory: memoryOfCopy(context, row, (to) => bringBack(context, sandboxId, memory, to)) }),
    });
  } catch (error) {
    if ((await context.rows.get(sandboxId))?.generation === generation) throw error;
    return undefined;
  }
}

function layOutStill(context: DockerContext, sandboxId: string, row: NewRow, processes: boolean): Promise<LaidOut> {
  const name = randomBytes(8).toString('hex');
  return readStill(
    context,
    sandboxId,
    (still) =>
      withMemory(context, still, { processes, name }, (from) =>
        layOut(context, row, {
          files: (to) => jobsOf(context).copy({ volume: still.row.volumeName }, to),
          ofAnother: true,
          ...(from && { memory: memoryOfCopy(context, row, (to) => jobsOf(context).copy(from, to)) }),
        }),
      ),
    (laidOut) => discard(context, laidOut),
  );
}

/** An attempt that has died may have left it frozen, although its conversation is not paused. */
async function wakeAgain(context: DockerContext, sandboxId: string, staysFrozen: () => Promise<boolean>): Promise<void> {
  const row = await context.rows.get(sandboxId);
  if (row?.state !== 'frozen' || row.paused !== true || (await staysFrozen())) return;
  await context.inTurn(sandboxId, () => bringUpSandbox(context, sandboxId, 'wake'));
}
