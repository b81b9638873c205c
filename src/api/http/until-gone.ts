import type { FastifyRequest } from 'fastify';

/** Runs work for a request; its signal aborts when the caller goes. */
export async function untilGone<T>({ raw }: Pick<FastifyRequest, 'raw'>, work: (gone: AbortSignal) => Promise<T>): Promise<T> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  raw.socket.once('close', leave);
  if (raw.socket.destroyed) leave();
  try {
    return await work(gone.signal);
  } finally {
    raw.socket.off('close', leave);
  }
}
