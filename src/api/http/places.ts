import type { Socket } from 'node:net';
import { Tally } from '../../common/tally.ts';
import type { ConnectionLimits } from './limits.ts';

/** The connections that a server has open, within limits. */
export interface Places {
  /** Gives a connection a place, or closes it. */
  take(socket: Socket): void;
  has(socket: Socket): boolean;
  /** A request of the connection is being answered: it keeps its place. */
  begin(socket: Socket): void;
  /** The connection has no request: it may be closed for another. */
  rest(socket: Socket): void;
  close(socket: Socket): void;
  /** Closes connections that have never sent anything, such as those that a client keeps ready. */
  closeUnused(): void;
}

/**
 * Where there is no room for another connection, the oldest without a request is closed for it: rather one that never had a request than one that rests between two.
 * When all have a request, the new one is closed.
 */
export function createPlaces({ total, perAddress }: ConnectionLimits): Places {
  /** With their addresses: a closed socket no longer knows its own. */
  const open = new Map<Socket, string>();
  const silent = new Set<Socket>();
  const resting = new Set<Socket>();
  const addresses = new Tally();
  const leave = (socket: Socket) => {
    const address = open.get(socket);
    if (address === undefined) return;
    for (const each of [open, silent, resting]) each.delete(socket);
    addresses.add(address, -1);
  };
  const close = (socket: Socket) => {
    leave(socket);
    socket.destroy();
  };
  /** Returns whether one of those that are meant could be closed. */
  const closeOldest = (isMeant: (socket: Socket) => boolean): boolean => {
    for (const idle of [silent, resting]) {
      for (const socket of idle) {
        if (!isMeant(socket)) continue;
        close(socket);
        return true;
      }
    }
    return false;
  };
  const hasRoom = (address: string): boolean => {
    if (addresses.of(address) >= perAddress) return closeOldest((socket) => open.get(socket) === address);
    return open.size < total || closeOldest(() => true);
  };
  return {
    take(socket) {
      const { remoteAddress: address = '' } = socket;
      if (!hasRoom(address)) {
        socket.destroy();
        return;
      }
      open.set(socket, address);
      silent.add(socket);
      addresses.add(address, 1);
      socket.once('close', () => leave(socket));
    },
    has: (socket) => open.has(socket),
    begin(socket) {
      silent.delete(socket);
      resting.delete(socket);
    },
    rest: (socket) => void resting.add(socket),
    close,
    closeUnused() {
      for (const socket of silent) if (socket.bytesRead === 0) close(socket);
    },
  };
}
