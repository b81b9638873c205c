import { Client, Connection } from '@temporalio/client';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { EncryptionKeys } from '../../platform/encryption-keys.ts';
import type { NamespaceParts } from './own-namespace.ts';
import { createPayloadCodec } from './payload-codec.ts';

/** The connection to Temporal, created at its first use. */
export interface TemporalLink {
  readonly address: string;
  readonly keys: EncryptionKeys;
  /** Fails with `TEMPORAL_UNAVAILABLE`, or with the error of the check; the next call tries again. */
  client(): Promise<Client>;
  /** As `client`, for calls that are not about workflows. */
  connection(): Promise<Connection>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** The longest pause between two attempts to reach the server again. By default it grows to two minutes, in which a server that is back would not be noticed. */
const RECONNECT = { 'grpc.max_reconnect_backoff_ms': 2_000 };

interface LinkOptions {
  address: string;
  namespace: string;
  /** Encrypt what Temporal stores. */
  keys: EncryptionKeys;
  /** Fails when the server may not be used; called for each new connection. */
  check?: (parts: NamespaceParts) => Promise<void>;
}

export function createTemporalLink({ address, namespace, keys, check }: LinkOptions): TemporalLink {
  const dataConverter = { payloadCodecs: [createPayloadCodec(keys)] };
  let connecting: Promise<{ connection: Connection; client: Client }> | undefined;
  const connect = async () => {
    let connection: Connection | undefined;
    try {
      connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS, channelArgs: RECONNECT });
      await check?.({ address, namespace, connection });
      return { connection, client: new Client({ connection, namespace, dataConverter }) };
    } catch (error) {
      connecting = undefined;
      await connection?.close();
      if (isFailure(error)) throw error;
      throw failure('TEMPORAL_UNAVAILABLE', { address, problem: error instanceof Error ? error.message : String(error) }, error);
    }
  };
  return {
    address,
    keys,
    client: async () => (await (connecting ??= connect())).client,
    connection: async () => (await (connecting ??= connect())).connection,
    async close() {
      const open = await connecting?.catch(() => undefined);
      await open?.connection.close();
    },
  };
}
