import type { Cli } from '../cli.ts';

const EVERY_MS = 200;
const CLEAR_LINE = '\r\u001b[K';

/** A line with the bytes so far, where somebody sits before it; gone when it is disposed of. */
export function createProgress({ err }: Cli): { add(bytes: number): void; [Symbol.dispose](): void } {
  let total = 0;
  let shownAtMs = 0;
  return {
    add(bytes) {
      total += bytes;
      if (!err.isTTY || Date.now() - shownAtMs < EVERY_MS) return;
      shownAtMs = Date.now();
      err.write(`${CLEAR_LINE}${(total / 1e6).toFixed(1)} MB`);
    },
    [Symbol.dispose]() {
      if (shownAtMs > 0) err.write(CLEAR_LINE);
      shownAtMs = 0;
    },
  };
}
