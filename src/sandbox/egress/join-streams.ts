import type { Duplex, Readable } from 'node:stream';
import type { Tally } from './decisions.ts';

/** Carries bytes both ways until both sides have said all. When one breaks, so does the other: nobody takes a part for the whole. */
export function joinStreams(guest: Duplex, remote: Duplex, tally: Tally): void {
  count(guest, tally.sent);
  count(remote, tally.received);
  guest.pipe(remote);
  remote.pipe(guest);
  for (const [one, other] of [
    [guest, remote],
    [remote, guest],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => {
      // One that closed in order has handed over everything, and what it gave may still be on its way.
      if (!one.readableEnded || !one.writableFinished) other.destroy();
    });
  }
}

export function count(stream: Readable, add: (bytes: number) => void): void {
  stream.on('data', (chunk: Buffer) => add(chunk.length));
}
