import type { Duplex, Transform } from 'node:stream';
import type { Tally } from './decisions.ts';
import type { ByteReader } from './http/byte-reader.ts';

/** A stream, and the reader that has read it up to now. */
export interface Side {
  connection: Duplex;
  reader: ByteReader;
}

/**
 * Carries bytes in both directions until both sides have ended. When one side breaks, the other is destroyed, so that neither takes a part for the whole.
 * The last parameter has optional transforms for the outward and the inward direction.
 */
export function joinStreams(guest: Side, remote: Side, tally: Tally, [outward, inward]: Transform[] = []): void {
  const streams = [guest.connection, remote.connection, outward, inward].filter((stream) => stream !== undefined);
  const breakAll = (): void => {
    for (const stream of streams) stream.destroy();
  };
  for (const stream of streams) {
    stream.on('error', breakAll);
    stream.on('close', () => {
      // A stream that closed in order has passed on all its data, which may still be on its way through the others.
      if (!stream.readableEnded || !stream.writableFinished) breakAll();
    });
  }
  // A connection may have closed before this call.
  if (guest.connection.destroyed || remote.connection.destroyed) return breakAll();
  carry(guest, remote.connection, tally.sent, outward);
  return carry(remote, guest.connection, tally.received, inward);
}

function carry({ connection, reader }: Side, to: Duplex, count: (bytes: number) => void, check: Transform | undefined): void {
  const first = check?.pipe(to) ? check : to;
  const held = reader.take(reader.held.length);
  count(held.length);
  if (held.length > 0) first.write(held);
  // The reader may have reached the end of the stream while it still held earlier bytes.
  if (connection.readableEnded) return void first.end();
  connection.on('data', (chunk: Buffer) => count(chunk.length));
  connection.pipe(first);
  return undefined;
}
