import type { Logger } from '../../../platform/log.ts';
import type { HostState } from '../../../store/service/fleet.ts';
import type { HostRows } from '../../../store/service/hosts.ts';

/** How often the host is heard of before it counts as lost. */
const BEATS = 6;
/** The part of the time at which this process begins to doubt, before others may give the host up. */
const DOUBT = 0.9;

/** Whether other hosts may have taken sandboxes of this host over. */
export interface HostLease {
  /**
   * The same number as long as no sandbox can have been taken over: what was read from a row in this term still holds. Undefined while one may be taken over
   * now. Always 0 in a process that does not keep the host.
   */
  term(): number | undefined;
  /** What was told when the host was last said to be there; a process that does not keep the host is told nothing. */
  state(): HostState;
  /**
   * Says from time to time that the host is there, until it is disposed of. Resolves when it has been said once. `onReturn` is called when it could be said again
   * after others may have given the host up.
   */
  keep(onReturn: () => Promise<unknown>): Promise<AsyncDisposable>;
}

interface LeaseParts {
  hosts: Pick<HostRows, 'beat'>;
  hostId: string;
  lostAfterMs: number;
  log: Logger;
}

export function createHostLease({ hosts, hostId, lostAfterMs, log }: LeaseParts): HostLease {
  let term = 0;
  let state: HostState = { isDraining: false, hasOthers: false };
  let toldAt: ReturnType<typeof clocks> | undefined;
  /** The steady clock stands still while a machine is suspended; the other one may be set back. The one that says more counts. */
  const mayBeLost = () => {
    const now = clocks();
    return toldAt !== undefined && Math.max(now.steady - toldAt.steady, now.wall - toldAt.wall) >= lostAfterMs * DOUBT;
  };
  /** Others count from when the database hears of the host, which is later than the time at which it is told. */
  const beat = async () => {
    const telling = clocks();
    state = await hosts.beat(hostId, lostAfterMs);
    const returns = mayBeLost();
    if (returns) term += 1;
    toldAt = telling;
    return returns;
  };
  return {
    term: () => (mayBeLost() ? undefined : term),
    state: () => state,
    async keep(onReturn) {
      await beat();
      let isOver = false;
      let beating: Promise<void> = Promise.resolve();
      let returning: Promise<unknown> = Promise.resolve();
      let timer: NodeJS.Timeout;
      // Beside the next beats: it may take longer than the time between two of them.
      const comeBack = async (before: Promise<unknown>) => {
        await before;
        await onReturn().catch((error: unknown) => log.warn({ hostId, err: error }, 'what other hosts have taken over could not be removed'));
      };
      const beatAgain = async () => {
        if (await beat()) returning = comeBack(returning);
      };
      const later = () => {
        timer = setTimeout(() => {
          beating = beatAgain()
            .catch((error: unknown) => log.warn({ hostId, err: error }, 'other hosts may take the sandboxes of this host for lost'))
            .finally(() => isOver || later());
        }, lostAfterMs / BEATS);
      };
      later();
      return {
        async [Symbol.asyncDispose]() {
          isOver = true;
          clearTimeout(timer);
          await beating;
          await returning;
        },
      };
    },
  };
}

function clocks() {
  return { steady: performance.now(), wall: Date.now() };
}
