import type { ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Refusal {
  status: 400 | 403 | 405 | 421 | 502;
  /** Completes "Longshore egress: ". */
  why: string;
}

/** Answers a request; the reason is in the status line too, since many clients show no more of a refusal. */
export function refuse(response: ServerResponse, { status, why }: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, reasonOf({ status, why }), { 'content-type': 'text/plain; charset=utf-8', 'x-longshore-egress': 'refused', connection: 'close' });
  response.end(`Longshore egress: ${why}\n`);
}

/** The same on a connection that has no response object: that of a CONNECT, or of something that is not HTTP. */
export function refuseConnection(socket: Duplex, { status, why }: Refusal): void {
  const text = `Longshore egress: ${why}\n`;
  const head = [
    `HTTP/1.1 ${status} ${reasonOf({ status, why })}`,
    'content-type: text/plain; charset=utf-8',
    'x-longshore-egress: refused',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  // What the client still sends is of no interest, but has to be read for the end to be seen.
  socket.resume();
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}

function reasonOf({ status, why }: Refusal): string {
  return `${STATUS_CODES[status]} (${why.slice(0, 200).replaceAll(/[^\x20-\x7e]/g, '?')})`;
}
