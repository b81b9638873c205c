import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool, type ClientConfig } from 'pg';
import type { Logger } from '../../platform/log.ts';
import { isConflict, postgresFailure } from './database-failures.ts';
import { toPlainText } from './json-text.ts';

export type SqlValue = string | number | boolean | null | string[] | Buffer;

/** The database for the query families: statements by name (each is prepared once per connection), with errors already translated. */
export interface Database {
  query<Row>(name: string, sql: string, values: SqlValue[]): Promise<Row[]>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 60_000;
const CONFLICT_ATTEMPTS = 12;
/** Limits of the delay between two attempts, in milliseconds. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;

export function openDatabase(options: { url: string; log: Logger; poolSize: number }): Database {
  const pool = new Pool({ ...connectionOptions(options.url), max: options.poolSize, idleTimeoutMillis: 60_000 });
  // Without a listener, an idle connection that the server drops would end the process.
  pool.on('error', (error) => options.log.warn({ error: error.message }, 'an idle Postgres connection was lost'));
  // A pool that ends drops the queries that wait for a connection, and their callers would wait without end.
  const running = new Set<Promise<unknown>>();
  let closing = false;
  return {
    async query<Row>(name: string, sql: string, values: SqlValue[]) {
      if (closing) throw postgresFailure(new Error('Cannot use a pool after calling end on the pool'));
      const clean = values.map((value) => (typeof value === 'string' ? toPlainText(value) : value));
      const query = unlessConflicting(() => pool.query({ name, text: sql, values: clean }));
      running.add(query);
      try {
        const { rows } = await query;
        return rows as Row[];
      } catch (error) {
        throw postgresFailure(error);
      } finally {
        running.delete(query);
      }
    },
    async close() {
      closing = true;
      await Promise.allSettled(running);
      if (!pool.ending) await pool.end();
    },
  };
}

/**
 * Repeats a statement that Postgres has rolled back because of concurrent statements. Each statement is a transaction of its own, so it has had no effect
 * and may be repeated.
 */
async function unlessConflicting<T>(statement: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await statement();
    } catch (error) {
      if (!isConflict(error) || attempt === CONFLICT_ATTEMPTS) throw error;
      // A random delay: otherwise, statements that have conflicted once would conflict again.
      await sleep(Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt));
    }
  }
}

/** A connection outside the pool, for `LISTEN`. Not yet connected. */
export function dedicatedClient(url: string): Client {
  return new Client(connectionOptions(url));
}

function connectionOptions(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'longshore',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  };
}
