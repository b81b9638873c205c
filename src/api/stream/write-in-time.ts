import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

interface Terms {
  /** Aborts when the reader has gone, or the stream is to end. */
  signal: AbortSignal;
  stalledMs: number;
}

/** Writes a part of a stream. Resolves when the connection has room again, or has ended. A reader that makes no room in time is disconnected. */
export async function writeInTime(response: ServerResponse, part: string | Buffer, { signal, stalledMs }: Terms): Promise<void> {
  if (part.length === 0 || response.write(part) || signal.aborted) return;
  const timer = setTimeout(() => response.destroy(), stalledMs);
  await once(response, 'drain', { signal }).catch(() => undefined);
  clearTimeout(timer);
}
