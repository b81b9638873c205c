/** What each signal of `anySignal` was made of. */
const sources = new WeakMap<AbortSignal, AbortSignal[]>();

/**
 * `AbortSignal.any`, whose signal keeps the others from being collected. Node.js 20 collects an `AbortSignal.timeout` that only `AbortSignal.any` knows, and
 * the signal then never aborts.
 */
export function anySignal(signals: AbortSignal[]): AbortSignal {
  // oxlint-disable-next-line no-restricted-properties -- the place for it
  const any = AbortSignal.any(signals);
  sources.set(any, signals);
  return any;
}
