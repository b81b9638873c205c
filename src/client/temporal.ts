import { Client, Connection } from '@temporalio/client';
import { failure } from '../contracts/errors.ts';

/** The connection to Temporal, made when first asked for. */
export interface TemporalLink {
  readonly address: string;
  /** Fails with `TEMPORAL_UNAVAILABLE`; the next call tries again. */
  client(): Promise<Client>;
  /** As `client`, for what is not about workflows. */
  connection(): Promise<Connection>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

export function createTemporalLink(options: { address: string; namespace: string }): TemporalLink {
  const { address, namespace } = options;
  let connecting: Promise<{ connection: Connection; client: Client }> | undefined;
  const connect = async () => {
    try {
      const connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
      return { connection, client: new Client({ connection, namespace }) };
    } catch (error) {
      connecting = undefined;
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
