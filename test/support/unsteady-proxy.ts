import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

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
  const sockets = new Set<Socket>();
  let target = new URL(first);
  let cuts = 0;
  let isCalm = false;
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port) });
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
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    leadTo: (url) => void (target = new URL(url)),
    calm: () => void (isCalm = true),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
