import type { WebSocket } from 'ws';
import type { StreamTimes } from '../stream/stream-times.ts';

/** Watches whether the client of a WebSocket is still there. */
export interface ClientWatch {
  /** Something was sent, in either direction. */
  touch(): void;
  /** The client, or the connection to it, has taken what was sent. */
  taken(): void;
  stop(): void;
}

const IDLE = 4008;

/**
 * Closes the connection when nothing is sent for `idleMs`. Cuts it when the client has vanished: when it answers no ping for `stalledMs`, or takes nothing of what
 * waits for it. A client that reads slowly, and one whose program takes no input, are there.
 */
export function watchClient(socket: WebSocket, { idleMs, times: { heartbeatMs, stalledMs } }: { idleMs: number; times: StreamTimes }): ClientWatch {
  let touchedAt = performance.now();
  /** Since when an answer or room is waited for. */
  let waitingSince: number | undefined;
  let isFull = false;
  const isThere = () => (waitingSince = undefined);
  const beat = () => {
    const now = performance.now();
    // What the client says is not read then.
    if (socket.isPaused) isThere();
    if (now - touchedAt > idleMs) socket.close(IDLE, 'nothing was sent for too long');
    else if (waitingSince !== undefined && now - waitingSince > stalledMs) socket.terminate();
    else {
      isFull = socket.bufferedAmount > 0;
      if (!isFull) socket.ping();
      waitingSince ??= now;
    }
  };
  const timer = setInterval(beat, Math.min(heartbeatMs, idleMs));
  socket.on('pong', isThere);
  socket.on('message', isThere);
  return {
    touch: () => void (touchedAt = performance.now()),
    taken() {
      // The connection itself takes much for a client that has gone.
      if (isFull) isThere();
      isFull = false;
    },
    stop: () => clearInterval(timer),
  };
}
