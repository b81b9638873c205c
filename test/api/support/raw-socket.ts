import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Asks for a WebSocket as a client does, and returns its connection after the head of the answer: nobody answers pings there, or reads more. */
export async function openRawSocket(url: string, headers: Record<string, string>): Promise<Socket> {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const wish = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  const lines = Object.entries({ host: hostname, ...wish, ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write([`GET ${pathname}${search} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  const [head] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  if (!head.toString('latin1').startsWith('HTTP/1.1 101 ')) throw new Error(head.toString());
  return socket;
}
