import type { Duplex, Transform } from 'node:stream';
import type { Tally } from './decisions.ts';
import type { ByteReader } from './http/byte-reader.ts';

/** A stream, and who read it up to now. */
export interface Side {
  connection: Duplex;
  reader: ByteReader;
}

/**
 * Carries bytes both ways until both sides have said all. When one breaks, so does the other: none takes a part for the whole.
 * @param checks what is passed through on the way out and on the way back, if anything.
 */
export function joinStreams(guest: Side, remote: Side, tally: Tally, [outward, inward]: Transform[] = []): void {
  const streams = [guest.connection, remote.connection, outward, inward].filter((stream) => stream !== undefined);
  const breakAll = (): void => {
    for (const stream of streams) stream.destroy();
  };
  for (const stream of streams) {
    stream.on('error', breakAll);
    stream.on('close', () => {
      // One that closed in order has handed over everything, and what it gave may still be on its way.
      if (!stream.readableEnded || !stream.writableFinished) breakAll();
    });
  }
  // One may have closed before this was called.
  if (guest.connection.destroyed || remote.connection.destroyed) return breakAll();
  carry(guest, remote.connection, tally.sent, outward);
  return carry(remote, guest.connection, tally.received, inward);
}

function carry({ connection, reader }: Side, to: Duplex, count: (bytes: number) => void, check: Transform | undefined): void {
  const first = check?.pipe(to) ? check : to;
  const held = reader.take(reader.held.length);
  count(held.length);
  if (held.length > 0) first.write(held);
  // Its end may have been seen while what came before it was still held.
  if (connection.readableEnded) return void first.end();
  connection.on('data', (chunk: Buffer) => count(chunk.length));
  connection.pipe(first);
  return undefined;
}
