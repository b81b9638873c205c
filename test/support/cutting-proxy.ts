import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between a client and a server, and cuts all its connections when it is told to or when the client has sent enough. */
export interface CuttingProxy extends AsyncDisposable {
  port: number;
  /** Cuts everything before the `messages`-th piece that a client sends from now on gets through, and refuses connections until `heal`. */
  cutAfter(messages: number): void;
  /** Cuts everything now, and refuses connections until `heal`. */
  cut(): void;
  /** True when it has cut since the last `cutAfter`. */
  hasCut(): boolean;
  heal(): void;
}

export async function startCuttingProxy(target: { host: string; port: number }): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let left = Infinity;
  let isCut = false;
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const upstream = connect(target);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (piece) => {
      left -= 1;
      if (left < 0) cut();
      else upstream.write(piece);
    });
    upstream.pipe(client);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter(messages) {
      isCut = false;
      left = messages;
    },
    cut,
    hasCut: () => isCut,
    heal() {
      isCut = false;
      left = Infinity;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
