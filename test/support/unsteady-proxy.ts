import type { Socket } from 'node:net';
import { servePairs } from './paired-sockets.ts';

/** Stands between a client and a server, and cuts each connection after a random number of bytes of either side, in one of the ways in which networks do that. */
export interface UnsteadyProxy extends AsyncDisposable {
  url: string;
  /** Connections that it has cut. */
  cuts(): number;
  /** From now on, connections lead to this server. */
  leadTo(url: string): void;
  /** From now on, it cuts nothing. */
  calm(): void;
}

interface Ways {
  random: () => number;
  /** A connection is cut after less than so many bytes. */
  mostBytes: number;
}

export async function startUnsteadyProxy(first: string, { random, mostBytes }: Ways): Promise<UnsteadyProxy> {
  let target = new URL(first);
  let cuts = 0;
  let isCalm = false;
  const pairs = await servePairs((client, open) => {
    const upstream = open({ host: target.hostname, port: Number(target.port) });
    let left = isCalm ? Infinity : Math.floor(random() * mostBytes);
    const way = random();
    const end = () => {
      if (way < 0.5) client.resetAndDestroy();
      else client.destroy();
      upstream.destroy();
    };
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (piece) => {
        const passed = piece.subarray(0, left);
        left -= passed.length;
        if (!to.destroyed) to.write(passed);
        if (left > 0 || isCalm || client.destroyed) return;
        cuts += 1;
        // What has been passed on may arrive, or be lost with the connection.
        if (way < 0.25 || way >= 0.75) end();
        else to.end(end);
      });
    };
    pass(client, upstream);
    pass(upstream, client);
  });
  return {
    url: `http://127.0.0.1:${pairs.port}`,
    cuts: () => cuts,
    leadTo: (url) => void (target = new URL(url)),
    calm: () => void (isCalm = true),
    [Symbol.asyncDispose]: () => pairs[Symbol.asyncDispose](),
  };
}
