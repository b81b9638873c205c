import type { Readable } from 'node:stream';
import { createAllowance, type Rate } from './allowance.ts';

interface Rates {
  bytes: Rate;
  /** Limit on the worker's time: a small chunk can take long to parse. */
  milliseconds: Rate;
}

/**
 * Reads a stream no faster than the rates. Data that is sent faster waits in the pipe and blocks its sender: reading takes time that other plugins need.
 * @returns a function after which the rest is read without a limit.
 */
export function readSteadily(stream: Readable, { bytes, milliseconds }: Rates, onChunk: (chunk: Buffer) => void): () => void {
  const takeBytes = createAllowance(bytes);
  const takeTime = createAllowance(milliseconds);
  let timer: NodeJS.Timeout | undefined;
  let steady = true;
  stream.on('data', (chunk: Buffer) => {
    const since = performance.now();
    onChunk(chunk);
    const owed = Math.max(-takeBytes(chunk.length) / bytes.perSecond, -takeTime(performance.now() - since) / milliseconds.perSecond);
    if (owed <= 0 || !steady) return;
    stream.pause();
    timer = setTimeout(() => stream.resume(), owed * 1_000);
  });
  return () => {
    steady = false;
    clearTimeout(timer);
    stream.resume();
  };
}
