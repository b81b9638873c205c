/** Parts of schemas that the event loop may compile at once, and those that are added to this budget in a second. */
const MOST = 2_500;
const IN_A_SECOND = 2_500;

/** Bounds the share of the event loop's time that compiling takes, for any number of schemas. */
export function createLoopBudget(now: () => number = () => performance.now()): { spend(parts: number): boolean } {
  let left = MOST;
  let at = now();
  return {
    spend(parts) {
      const time = now();
      left = Math.min(MOST, left + ((time - at) / 1_000) * IN_A_SECOND);
      at = time;
      if (parts > left) return false;
      left -= parts;
      return true;
    },
  };
}
