import type { Readable } from 'node:stream';
import { createAllowance, type Rate } from './allowance.ts';

interface Rates {
  bytes: Rate;
  /** Limit on the worker's time: a small chunk can take long to parse. */
  milliseconds: Rate;
}

export interface SteadyReading {
  /** After this, the rest is read without a limit. */
  hurry: () => void;
  /** Milliseconds for which nothing was read because too much had come. */
  heldMs: () => number;
}

/** Reads a stream no faster than the rates. Data that is sent faster waits in the pipe and blocks its sender: reading takes time that other plugins need. */
export function readSteadily(stream: Readable, { bytes, milliseconds }: Rates, onChunk: (chunk: Buffer) => void): SteadyReading {
  const takeBytes = createAllowance(bytes);
  const takeTime = createAllowance(milliseconds);
  let timer: NodeJS.Timeout | undefined;
  let steady = true;
  let held = 0;
  let heldSince: number | undefined;
  const resume = (): void => {
    if (heldSince !== undefined) held += performance.now() - heldSince;
    heldSince = undefined;
    stream.resume();
  };
  stream.on('data', (chunk: Buffer) => {
    const took = stopwatch();
    onChunk(chunk);
    const owed = Math.max(-takeBytes(chunk.length) / bytes.perSecond, -takeTime(took()) / milliseconds.perSecond);
    if (owed <= 0 || !steady) return;
    stream.pause();
    heldSince ??= performance.now();
    timer = setTimeout(resume, owed * 1_000);
  });
  return {
    hurry: () => {
      steady = false;
      clearTimeout(timer);
      resume();
    },
    heldMs: () => held + (heldSince === undefined ? 0 : performance.now() - heldSince),
  };
}

/** Milliseconds of work since now. A busy machine lengthens the elapsed time, other threads lengthen the processor time: the shorter one is nearer. */
function stopwatch(): () => number {
  const since = performance.now();
  const used = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(used);
    return Math.min(performance.now() - since, (user + system) / 1_000);
  };
}
