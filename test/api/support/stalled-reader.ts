import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** A reader of a stream that reads nothing until it is told to. */
export interface StalledReader {
  /** Reads what has been sent. Gives the frames that came as a whole. */
  readOn(): Promise<string[]>;
}

export async function openStalledReader(url: string, headers: Record<string, string>): Promise<StalledReader> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  const lines = Object.entries({ host: hostname, accept: 'text/event-stream', ...headers }).map(([name, value]) => `${name}: ${value}`);
  // A stream of HTTP/1.0 has no chunks.
  socket.write([`GET ${pathname} HTTP/1.0`, ...lines, '', ''].join('\r\n'));
  return {
    async readOn() {
      const [, body = ''] = (await text(socket)).split('\r\n\r\n', 2);
      return body.slice(0, body.lastIndexOf('\n\n') + 2).split(/(?<=\n\n)/);
    },
  };
}
