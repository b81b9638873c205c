import { Client, type ClientConfig } from 'pg';

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 60_000;

/** A connection outside the pool, for `LISTEN`. Not yet connected. */
export function dedicatedClient(url: string): Client {
  return new Client(connectionOptions(url));
}

/** In a file of its own, so that the types of `Database`, which users of the package get, do not need those of pg. */
export function connectionOptions(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'longshore',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  };
}
