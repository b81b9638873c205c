import { failure, isFailure, type ErrorValues } from '../../../contracts/errors.ts';
import { waitsIn, type WaitsForRoom } from '../../../contracts/hosts/room.ts';
import type { HostNeeds } from '../../../contracts/hosts/needs.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { retire } from '../pool/drain-pools.ts';
import { largerAway } from './hosts-away.ts';

/** Who needs memory of a host. */
export interface Asking extends HostNeeds {
  sandboxId: string;
  conversationId?: string;
  tenantId: string;
  /** Any host may take it, not only this one. */
  anywhere?: boolean;
}

const MEBIBYTE = 2 ** 20;
/** Who waits asks again after a tenth of the time that it has waited, within these limits. Milliseconds. */
const ASK_AGAIN_MS = { least: 1000, most: 5000 };

/**
 * Does what takes memory of this host. When there is none, gives up warm sandboxes, and repeats it.
 * @throws HOST_FULL when it has to come again, HOST_WAIT_OVER, SANDBOX_TOO_LARGE; HOSTS_AWAY where only hosts could have it that are not there
 */
export async function withRoom<T>(context: DockerContext, asking: Asking, take: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await take();
    } catch (error) {
      if (!isFailure(error, 'HOST_FULL')) throw error;
      const full = error.values as ErrorValues<'HOST_FULL'>;
      if (!(await giveUpWarm(context, full))) throw await queueForRoom(context, asking, full);
    }
  }
}

/** Removes one warm sandbox of this host, where memory is missing. False when there is none. */
async function giveUpWarm(context: DockerContext, { neededMb, promisedMb, allowedMb }: ErrorValues<'HOST_FULL'>): Promise<boolean> {
  if (Number(neededMb) > Number(allowedMb) || Number(promisedMb) + Number(neededMb) <= Number(allowedMb)) return false;
  const [warm] = await context.poolRows.unclaimed(context.hostId);
  if (!warm) return false;
  await retire(context, warm, 'another sandbox needs its memory');
  return true;
}

/** Joins the queue for memory, or keeps its place. Returns the error that tells the caller when to ask again, or that it must not. */
export async function queueForRoom(context: DockerContext, asking: Asking, full: ErrorValues<'HOST_FULL'>): Promise<Error> {
  const { sandboxId } = asking;
  const waits = waitsIn(full);
  const { neededMb, host, promisedMb, allowedMb } = waits;
  if (neededMb > allowedMb) {
    const larger = asking.anywhere ? await largerAway(context, asking, neededMb) : undefined;
    return larger ?? failure('SANDBOX_TOO_LARGE', { sandboxId, neededMb, host, allowedMb });
  }
  return joinQueue(context, asking, waits, {
    again: failure('HOST_FULL', { ...full, sandboxId }),
    over: (waited) => failure('HOST_WAIT_OVER', { sandboxId, waited, neededMb, host, promisedMb, allowedMb }),
  });
}

interface QueueErrors {
  /** It is to ask again; when, is added. */
  again: ReturnType<typeof failure>;
  /** It has waited for so many seconds. */
  over(waited: number): Error;
}

/** Joins the queue, or keeps its place, and tells the conversation what it waits for. */
export async function joinQueue(context: DockerContext, asking: Asking, waits: WaitsForRoom, errors: QueueErrors): Promise<Error> {
  const { roomQueue, hostId, hostWaitMs } = context;
  const { sandboxId, conversationId, tenantId, runtime, labels, anywhere } = asking;
  const waiter = conversationId ?? sandboxId;
  const { waitedMs, isNew } = await roomQueue.join({
    waiter,
    tenantId,
    waits,
    ...(conversationId !== undefined && { conversationId }),
    ...(!anywhere && { hostId }),
    ...(anywhere && runtime !== undefined && { runtime }),
    ...(anywhere && labels !== undefined && { labels }),
  });
  if (waitedMs >= hostWaitMs) {
    await roomQueue.leave(waiter);
    return errors.over(Math.round(waitedMs / 1000));
  }
  if (isNew) await tell(context, waiter, conversationId, waits);
  const retryAfterMs = Math.min(Math.max(1, hostWaitMs - waitedMs), againAfter(waitedMs));
  return Object.assign(errors.again, { values: { ...errors.again.values, retryAfterMs } });
}

/** The log of the conversation says it once for each wait. */
async function tell({ roomQueue, events, log }: DockerContext, waiter: string, conversationId: string | undefined, waits: WaitsForRoom): Promise<void> {
  try {
    if (conversationId !== undefined) await events.append(conversationId, [{ type: 'sandbox.waiting', data: waits }]);
    await roomQueue.told(waiter);
  } catch (error) {
    log.warn({ conversationId, err: error }, 'the log of the conversation does not say that its sandbox waits');
  }
}

function againAfter(waitedMs: number): number {
  return Math.round(Math.min(ASK_AGAIN_MS.most, Math.max(ASK_AGAIN_MS.least, waitedMs / 10)));
}

/** The memory limits of all as an error, for a sandbox for which no host has room. */
export function fullAs(
  sandboxId: string,
  neededMb: number,
  { hostId, allowedBytes = 0, roomBytes = 0, ahead = 0 }: { hostId: string; allowedBytes?: number; roomBytes?: number; ahead?: number },
) {
  const allowedMb = Math.floor(allowedBytes / MEBIBYTE);
  return { sandboxId, neededMb, host: hostId, promisedMb: Math.max(0, allowedMb - Math.floor(roomBytes / MEBIBYTE)), allowedMb, ahead };
}
