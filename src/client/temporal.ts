import { Client, Connection } from '@temporalio/client';
import { failure, isFailure } from '../contracts/errors.ts';
import type { NamespaceParts } from './own-namespace.ts';

/** The connection to Temporal, created at its first use. */
export interface TemporalLink {
  readonly address: string;
  /** Fails with `TEMPORAL_UNAVAILABLE`, or with the error of the check; the next call tries again. */
  client(): Promise<Client>;
  /** As `client`, for calls that are not about workflows. */
  connection(): Promise<Connection>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

/** @param options.check fails when the server may not be used; called for each new connection */
export function createTemporalLink(options: { address: string; namespace: string; check?: (parts: NamespaceParts) => Promise<void> }): TemporalLink {
  const { address, namespace, check } = options;
  let connecting: Promise<{ connection: Connection; client: Client }> | undefined;
  const connect = async () => {
    let connection: Connection | undefined;
    try {
      connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
      await check?.({ address, namespace, connection });
      return { connection, client: new Client({ connection, namespace }) };
    } catch (error) {
      connecting = undefined;
      await connection?.close();
      if (isFailure(error)) throw error;
      throw failure('TEMPORAL_UNAVAILABLE', { address, problem: error instanceof Error ? error.message : String(error) }, error);
    }
  };
  return {
    address,
    client: async () => (await (connecting ??= connect())).client,
    connection: async () => (await (connecting ??= connect())).connection,
    async close() {
      const open = await connecting?.catch(() => undefined);
      await open?.connection.close();
    },
  };
}
