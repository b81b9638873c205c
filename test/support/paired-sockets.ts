import { connect, createServer, type AddressInfo, type Socket, type TcpNetConnectOpts } from 'node:net';

/** A server on this machine that passes connections on. */
export interface PairedSockets extends AsyncDisposable {
  port: number;
  /** Ends all connections that are open. */
  cut(): void;
}

/** @param onClient gets each connection, and what opens the other one: each of the two ends with the other */
export async function servePairs(onClient: (client: Socket, open: (target: TcpNetConnectOpts) => Socket) => void): Promise<PairedSockets> {
  const sockets = new Set<Socket>();
  const server = createServer((client) =>
    onClient(client, (target) => {
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
      return upstream;
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
