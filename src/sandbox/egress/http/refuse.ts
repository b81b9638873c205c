import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export interface EgressRefusal {
  status: 400 | 403 | 405 | 408 | 417 | 421 | 431 | 502;
  /** Completes "Longshore egress: ". */
  why: string;
}

const GRACE_MS = 5000;

/** Answers with the reason and closes the connection. The reason is in the status line too, since many clients show only that. */
export function refuseConnection(socket: Duplex, { status, why }: EgressRefusal): void {
  const text = `Longshore egress: ${why}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]} (${why.slice(0, 200).replaceAll(/[^\x20-\x7e]/g, '?')})`,
    'content-type: text/plain; charset=utf-8',
    'x-longshore-egress: refused',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  endConnection(socket, `${head.join('\r\n')}\r\n\r\n${text}`);
}

/**
 * Closes a connection on which answers were sent. The client may need time to read the last one: it is not idle before all of it is on its way. One that
 * continues to send has a few seconds.
 */
export function endAnswered(socket: Duplex, idleMs: number): void {
  if (socket.destroyed) return;
  const isSent = () => socket.writableFinished;
  let sendsOn: NodeJS.Timeout | undefined;
  const idle = setInterval(() => isSent() && socket.destroy(), idleMs).unref();
  socket.on('data', () => {
    if (isSent()) sendsOn ??= setTimeout(() => socket.destroy(), GRACE_MS).unref();
  });
  socket.once('close', () => {
    clearInterval(idle);
    clearTimeout(sendsOn);
  });
  socket.resume();
  socket.end();
}

/** Sends `last` and closes the connection, even if the other side continues to send. */
export function endConnection(socket: Duplex, last: string | Buffer = ''): void {
  if (socket.destroyed) return;
  // What the client still sends is ignored, but must be read, so that its end is noticed.
  socket.resume();
  const grace = setTimeout(() => socket.destroy(), GRACE_MS).unref();
  socket.once('close', () => clearTimeout(grace));
  socket.end(last);
}
