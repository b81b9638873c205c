import type { Cli } from '../output/cli.ts';

const EVERY_MS = 200;

/** Shows a line with the bytes so far when stderr is a terminal; removes it when disposed of. */
export function createProgress({ err }: Cli): { add(bytes: number): void; [Symbol.dispose](): void } {
  let total = 0;
  let shownAtMs = 0;
  return {
    add(bytes) {
      total += bytes;
      if (!err.isTTY || Date.now() - shownAtMs < EVERY_MS) return;
      shownAtMs = Date.now();
      err.clearLine();
      err.print(`${(total / 1e6).toFixed(1)} MB`);
    },
    [Symbol.dispose]() {
      if (shownAtMs > 0) err.clearLine();
      shownAtMs = 0;
    },
  };
}
