import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Logger } from '../../platform/log.ts';
import { connectionOptions } from './connection-options.ts';
import { isConflict, postgresFailure } from './database-failures.ts';
import { toPlainText } from './json-text.ts';
import { queryAsTenant } from './query-as-tenant.ts';
import { tenantInForce } from './tenant-scope.ts';

export type LockMode = 'shared' | 'alone';
export type SqlValue = string | number | boolean | null | string[] | Buffer;

/** The database for the query families: statements by name (each is prepared once per connection), with errors already translated. */
export interface Database {
  /** While `asTenant` is in force, the statement sees only that tenant's rows. */
  query<Row>(name: string, sql: string, values: SqlValue[]): Promise<Row[]>;
  /**
   * Does work while no other holds the lock of this name; `shared`: others that share it are let in. The lock is held until the work has ended, for 10 s at
   * most, after which the work goes on without it. Uses connections of its own, so that such work leaves those of `query` alone.
   */
  withLock<Result>(name: string, mode: LockMode, work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

const CONFLICT_ATTEMPTS = 12;
const LOCKED_AT_MOST_MS = 10_000;
const LOCKS_AT_ONCE = 4;
const LOCK = {
  shared: 'select pg_advisory_xact_lock_shared(hashtextextended($1, 0))',
  alone: 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
};
/** Limits of the delay between two attempts, in milliseconds. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;

export function openDatabase(options: { url: string; log: Logger; poolSize: number }): Database {
  const pool = openPool(options, { max: options.poolSize, idleTimeoutMillis: 60_000 });
  // Opened for the first statement of a tenant, so that workers have none.
  const tenants = openPool(options, { max: options.poolSize, idleTimeoutMillis: 60_000, pipeline: true });
  const locks = openPool(options, { max: LOCKS_AT_ONCE, idleTimeoutMillis: 1_000 });
  // A pool that ends drops the queries that wait for a connection, and their callers would wait without end.
  const running = new Set<Promise<unknown>>();
  let closing = false;
  return {
    async query<Row>(name: string, sql: string, values: SqlValue[]) {
      if (closing) throw postgresFailure(new Error('Cannot use a pool after calling end on the pool'));
      const clean = values.map((value) => (typeof value === 'string' ? toPlainText(value) : value));
      const tenantId = tenantInForce();
      const statement = { name, text: sql, values: clean };
      const query = unlessConflicting(() => (tenantId === undefined ? pool.query(statement) : queryAsTenant(tenants, tenantId, statement)));
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
    async withLock<Result>(name: string, mode: LockMode, work: () => Promise<Result>) {
      if (closing) throw postgresFailure(new Error('Cannot use a pool after calling end on the pool'));
      const locked = lock(locks, name, mode);
      running.add(locked);
      const release = await locked.finally(() => running.delete(locked));
      const timer = setTimeout(() => void release(), LOCKED_AT_MOST_MS);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        await release();
      }
    },
    async close() {
      closing = true;
      await Promise.allSettled(running);
      await Promise.all([pool, tenants, locks].map(async (each) => each.ending || each.end()));
    },
  };
}

/** A connection that the server ends would end the process where nothing listens: the pool does while it is idle. In use, its next statement fails. */
function openPool({ url, log }: { url: string; log: Logger }, limits: PoolConfig): Pool {
  const pool = new Pool({ ...connectionOptions(url), ...limits });
  pool.on('error', (error) => log.warn({ error: error.message }, 'an idle Postgres connection was lost'));
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** Waits for the lock and returns what releases it, which never rejects: the transaction changes nothing, and a connection that is lost has lost its lock. */
async function lock(pool: Pool, name: string, mode: LockMode): Promise<() => Promise<void>> {
  let client: PoolClient | undefined;
  try {
    client = await pool.connect();
    // If this process stops for long, the server ends the transaction.
    await client.query(`begin; set local idle_in_transaction_session_timeout = ${2 * LOCKED_AT_MOST_MS}`);
    await client.query(LOCK[mode], [name]);
    return createRelease(client);
  } catch (error) {
    client?.release(true);
    throw postgresFailure(error);
  }
}

function createRelease(client: PoolClient): () => Promise<void> {
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    const isBroken = await client.query('commit').then(
      () => false,
      () => true,
    );
    client.release(isBroken);
  };
  return () => (released ??= release());
}

/**
 * Repeats a statement that Postgres has rolled back because of concurrent statements. Each statement of `query` is a transaction of its own, so it has had no effect
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
