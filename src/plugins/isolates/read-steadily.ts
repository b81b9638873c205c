import type { Readable } from 'node:stream';
import { createAllowance, type Rate } from './allowance.ts';

/**
 * Reads a stream no faster than `bytes` says. What is sent faster waits in the pipe, and with it who sends it: reading costs time that others need.
 * @returns a function after which the rest is read as fast as it comes.
 */
export function readSteadily(stream: Readable, bytes: Rate, onChunk: (chunk: Buffer) => void): () => void {
  const take = createAllowance(bytes);
  let timer: NodeJS.Timeout | undefined;
  let steady = true;
  stream.on('data', (chunk: Buffer) => {
    const left = take(chunk.length);
    if (left < 0 && steady) {
      stream.pause();
      timer = setTimeout(() => stream.resume(), (-left / bytes.perSecond) * 1_000);
    }
    onChunk(chunk);
  });
  return () => {
    steady = false;
    clearTimeout(timer);
    stream.resume();
  };
}
