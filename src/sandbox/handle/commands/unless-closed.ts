/** The part of a stream that is needed here. The streams of tar-stream are not Node's own. */
interface Closing {
  destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

/**
 * Waits for an event of a stream, or for its end: a stream whose other side is closed never drains. Removes its listener, since a transfer waits once for
 * each piece.
 */
export async function unlessClosed(stream: Closing, wait: Promise<unknown>): Promise<void> {
  if (stream.destroyed) return;
  let end: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  stream.once('close', end);
  try {
    await Promise.race([wait, closed]);
  } finally {
    stream.off('close', end);
  }
}
