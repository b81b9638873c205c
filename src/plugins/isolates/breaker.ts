/** A circuit breaker: prevents endless restarts of a plugin whose process ends again and again. */
export interface Breaker {
  isOpen(): boolean;
  /** Milliseconds until the process may be started again; undefined when it may start now. */
  waits(): number | undefined;
  /** A new breaker would behave the same. */
  isCalm(): boolean;
  failed(): void;
  succeeded(): void;
}

const FAILURES = 5;
const WITHIN_MS = 60_000;
const OPEN_MS = 30_000;

/** Opens after five failures within a minute, for 30 seconds. After that, one failure opens it again, and one success closes it. */
export function createBreaker(now: () => number): Breaker {
  let failures: number[] = [];
  let openUntil = 0;
  let trial = false;
  return {
    isOpen: () => openUntil > now(),
    waits() {
      const left = openUntil - now();
      if (left > 0) return left;
      trial = openUntil > 0;
      return undefined;
    },
    isCalm: () => openUntil <= now() && !trial && !failures.some((at) => at > now() - WITHIN_MS),
    failed() {
      failures = [...failures.filter((at) => at > now() - WITHIN_MS), now()];
      if (trial || failures.length >= FAILURES) openUntil = now() + OPEN_MS;
    },
    succeeded() {
      if (!trial) return;
      failures = [];
      openUntil = 0;
      trial = false;
    },
  };
}
