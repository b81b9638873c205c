export interface Rate {
  /** The largest amount that may be taken at one moment. */
  burst: number;
  perSecond: number;
}

/** A token bucket: takes an amount and returns what is left, which is negative when the amount was too large. */
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
