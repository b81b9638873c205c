import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { CallName } from '../channel/calls.ts';
import { dataOf } from '../channel/messages.ts';
import type { Operation, Wire } from './wire.ts';

type PortCalls = Extract<CallName, `ports.${string}`>;

export const PORT_OPERATIONS: { [Name in PortCalls]: Operation<Name> } = {
  async 'ports.connect'(handle, { port }, wire) {
    let carried = Promise.resolve();
    await handle.connectPort(port, {
      signal: wire.signal,
      onOpen(connection) {
        carried = carry(connection, wire);
        // Awaited below, after the connection has ended.
        carried.catch((error: Error) => connection.destroy(error));
      },
    });
    await carried;
  },
};

/** Carries bytes in both directions until the guest sends no more. */
async function carry(connection: Duplex, { sender, incoming }: Pick<Wire, 'sender' | 'incoming'>): Promise<void> {
  await sender.json(null);
  const inward = async () => {
    for await (const bytes of dataOf(incoming)) if (!connection.write(bytes)) await once(connection, 'drain');
    connection.end();
  };
  inward().catch((error: Error) => connection.destroy(error));
  for await (const bytes of connection.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) await sender.data(bytes);
  connection.end();
}
