/** As much of a stream as is needed here; those of tar-stream are not Node's own. */
interface Closing {
  destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

/**
 * Waits for something that a stream will do, or for its end: one whose other side has gone away never drains. Leaves no listener behind, since a transfer
 * waits once for each piece.
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
