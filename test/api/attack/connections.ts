import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const AT_ONCE = 500;

/** Connections of an attacker. */
export interface Attackers {
  sockets: Socket[];
  /** What the service has answered to each, one text for each connection. */
  answers: string[];
  /** Resolves when the service has closed all of them. */
  closed: Promise<void>;
  end(): void;
}

/** Opens so many connections; `begin` is called for each when it is open. */
export async function attack(url: string, count: number, begin: (socket: Socket, index: number) => void, { reads = true } = {}): Promise<Attackers> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const answers: string[] = [];
  const ends: Promise<unknown>[] = [];
  for (let first = 0; first < count; first += AT_ONCE) {
    const opening = Array.from({ length: Math.min(AT_ONCE, count - first) }, async (_, offset) => {
      const socket = connect({ port: Number(port), host: hostname, noDelay: true });
      const index = first + offset;
      answers[index] = '';
      socket.on('error', () => undefined);
      if (reads) socket.on('data', (chunk: Buffer) => void (answers[index] = (answers[index] + chunk.toString('latin1')).slice(0, 10_000)));
      sockets.push(socket);
      ends.push(once(socket, 'close').catch(() => undefined));
      await once(socket, 'connect').catch(() => undefined);
      if (!socket.destroyed) begin(socket, index);
    });
    await Promise.all(opening);
  }
  return { sockets, answers, closed: Promise.all(ends).then(() => undefined), end: () => sockets.forEach((socket) => socket.destroy()) };
}

/** Sends a text again and again on each connection, until the returned function is called. */
export function drip({ sockets }: Attackers, text: string, everyMs: number): () => void {
  const timer = setInterval(() => sockets.forEach((socket) => socket.writable && socket.write(text)), everyMs);
  return () => clearInterval(timer);
}
