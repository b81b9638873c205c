import { LONGEST_TIMER_MS } from '../../common/longest-timer.ts';

/** Counts the uses of a resource. */
export interface Use {
  begin(): void;
  end(): void;
  isIdle(): boolean;
  /** When the last use ended. */
  endedAt(): number;
  /** After this, `onIdle` is not called any more. */
  stop(): void;
}

/**
 * Calls `onIdle` when there has been no use for `idleMs`; 0: never.
 * @param now a clock in milliseconds.
 */
export function createUse(idleMs: number, now: () => number, onIdle: () => void): Use {
  let inUse = 0;
  let endedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  // One timer serves many uses: when it fires, it checks when the last use ended and waits for the remaining time.
  const wait = (ms: number): void => {
    timer = setTimeout(look, Math.min(ms, LONGEST_TIMER_MS));
    timer.unref();
  };
  const look = (): void => {
    timer = undefined;
    if (inUse > 0) return;
    const left = endedAt + idleMs - now();
    if (left > 0) wait(left);
    else onIdle();
  };
  return {
    begin: () => void (inUse += 1),
    end() {
      inUse -= 1;
      endedAt = now();
      if (inUse === 0 && idleMs > 0 && !timer) wait(idleMs);
    },
    isIdle: () => inUse === 0,
    endedAt: () => endedAt,
    stop() {
      clearTimeout(timer);
      timer = undefined;
      inUse = Infinity;
    },
  };
}
