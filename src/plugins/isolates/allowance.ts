export interface Rate {
  /** At once. */
  burst: number;
  perSecond: number;
}

/** A token bucket: takes an amount and gives what is left, which is negative when it was too much. */
export function createAllowance({ burst, perSecond }: Rate): (amount: number) => number {
  let left = burst;
  let at = performance.now();
  return (amount) => {
    const now = performance.now();
    left = Math.min(burst, left + ((now - at) / 1_000) * perSecond) - amount;
    at = now;
    return left;
  };
}
