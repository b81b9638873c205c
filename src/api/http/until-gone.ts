import type { ServerResponse } from 'node:http';

/** Aborts when the caller has gone, or the answer is complete. */
export function untilGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  return gone.signal;
}
