import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { BEAT_MS, DATA_BYTES, errorFrame, frame, KIND } from './messages.ts';

/** Sends messages. Each promise resolves when there is room for more, and rejects when the other side has gone. */
export interface Sender {
  json(value: unknown): Promise<void>;
  data(bytes: Uint8Array, stream?: 'stdout' | 'stderr'): Promise<void>;
  /** The last message. */
  end(): void;
  /** The last message; says why there is no more. */
  fail(error: unknown): void;
}

export function createSender(target: Writable): Sender {
  const gone = new AbortController();
  // A broken connection ends what waits for room; the reader of the other direction reports it.
  target.once('close', () => gone.abort()).on('error', () => gone.abort());
  const beat = setInterval(() => {
    if (!target.writableNeedDrain) target.write(frame(KIND.beat));
  }, BEAT_MS);
  const stop = () => clearInterval(beat);
  gone.signal.addEventListener('abort', stop, { once: true });
  const send = async (bytes: Buffer) => {
    if (target.destroyed || target.writableEnded) throw new Error('the other side has gone');
    if (!target.write(bytes)) await once(target, 'drain', { signal: gone.signal });
  };
  let last: Promise<void> = Promise.resolve();
  // What is sent in pieces stays together, also when its sender does not wait.
  const inTurn = (work: () => Promise<void>) => (last = last.then(work, work));
  const finish = (bytes: Buffer) => {
    stop();
    if (!target.destroyed && !target.writableEnded) target.end(bytes);
  };
  return {
    json: (value) => inTurn(() => send(frame(KIND.json, Buffer.from(JSON.stringify(value))))),
    data(bytes, stream = 'stdout') {
      const kind = stream === 'stdout' ? KIND.data : KIND.errorData;
      return inTurn(async () => {
        for (let at = 0; at < bytes.byteLength; at += DATA_BYTES) await send(frame(kind, bytes.subarray(at, at + DATA_BYTES)));
      });
    },
    end: () => finish(frame(KIND.end)),
    fail: (error) => finish(errorFrame(error)),
  };
}
