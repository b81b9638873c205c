import type { Calls } from './calls.ts';
import { createIdleWatch, processorTimeOf } from './idle-watch.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { FromGuest } from './guest-protocol.ts';

interface Reading {
  at: number;
  /** Milliseconds for which the process did not get a processor, or for which its answer was not read. */
  excusedMs: number;
}

/**
 * Ends a process that does not answer: an endless loop answers no ping. The time in which it waits for a processor of a busy machine does not count, nor that
 * in which its output is not read because it has sent much. The watch starts after the code is loaded, which has a longer limit.
 */
export function createWatchdog(process: PluginProcess, calls: Calls, { unresponsiveMs }: { unresponsiveMs: number }) {
  let id = 0;
  let asked: { silentMs: number; last: Reading } | undefined;
  const watchIdle = createIdleWatch(process, calls, unresponsiveMs);
  const read = async (): Promise<Reading> => {
    const waitedMs = (await processorTimeOf(process.pid))?.waitedMs ?? 0;
    return { at: performance.now(), excusedMs: waitedMs + process.heldMs() };
  };
  const look = async (): Promise<void> => {
    const now = await read();
    if (asked === undefined) {
      asked = { silentMs: 0, last: now };
      id += 1;
      process.send({ type: 'ping', id });
      return;
    }
    const { silentMs, last } = asked;
    asked = { silentMs: silentMs + Math.max(0, now.at - last.at - (now.excusedMs - last.excusedMs)), last: now };
    if (asked.silentMs >= unresponsiveMs) process.kill(`it did not answer for ${unresponsiveMs} ms`);
  };
  return {
    start(): void {
      let looking: Promise<void> | undefined;
      const timer = setInterval(() => {
        void watchIdle();
        looking ??= look().finally(() => (looking = undefined));
      }, unresponsiveMs / 4);
      timer.unref();
      void process.ended.then(() => clearInterval(timer));
    },
    listen(message: FromGuest): void {
      if (message.type === 'pong' && message.id === id) asked = undefined;
    },
  };
}
