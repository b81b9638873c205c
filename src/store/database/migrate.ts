import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { failure } from '../../contracts/errors.ts';
import type { Database } from './database.ts';
import { postgresFailure } from './database-failures.ts';
import { createMigrationLoader } from './load-migrations.ts';
import { withClient } from './with-client.ts';

const TABLE = 'longshore_migrations';
const LOCK_TIMEOUT_MS = 500;
const BETWEEN_TRIES_MS = 500;
const PATIENCE_MS = 5 * 60_000;
/** The lock that the processes of earlier versions take, too: the default of node-pg-migrate. */
const LOCK = 'select pg_try_advisory_lock(7241865325823964) as locked';
const BLOCKED = 'a change of the schema has waited five minutes for tables that transactions of others use. See pg_stat_activity, end them, and try again';
// As Postgres names the end of a wait for a lock.
const LOCK_NOT_AVAILABLE = '55P03';
/** Old names of migrations, from before the numbers were unique. Development databases have run some of them, in either order. */
const RENAMED = [
  ['0013_turn_ends', '0014_turn_ends'],
  ['0014_finite_expiry', '0015_finite_expiry'],
  ['0014_stored_bytes', '0016_stored_bytes'],
  ['0031_usage_days', '0032_usage_days'],
  ['0033_message_outputs', '0039_message_outputs'],
] as const;
const DIRECTORY = fileURLToPath(new URL('./migrations', import.meta.url));

/** What has to be done until this version and the schema fit. */
export interface SchemaState {
  /** Migrations of this version that have not run. */
  pending: string[];
  /** Migrations of a newer version that have run, and without which no program can work with the schema. */
  lacking: string[];
}

/**
 * Brings the schema up to date. Several processes may run it at once: the later ones wait for the first. A migration that waits for a table makes all others
 * that use the table wait behind it; so it gives up after half a second and is tried again later.
 * @throws POSTGRES_UNAVAILABLE, also when transactions of others hold its tables for five minutes
 */
export async function migrate(url: string): Promise<void> {
  let limit = performance.now() + PATIENCE_MS;
  for (;;) {
    const outcome = await tryToMigrate(url);
    if (outcome === 'migrated') return;
    // A large table may take longer. The other process gives up by itself when it cannot go on.
    if (outcome === 'busy') limit = performance.now() + PATIENCE_MS;
    if (performance.now() > limit) throw failure('POSTGRES_UNAVAILABLE', { problem: BLOCKED });
    await sleep(BETWEEN_TRIES_MS);
  }
}

/** `blocked`: it has waited for a lock in vain; the migrations that have run by then stay. `busy`: another process migrates. */
async function tryToMigrate(url: string): Promise<'migrated' | 'blocked' | 'busy'> {
  // Loaded on demand: it costs a tenth of a second that a process does not need when the schema is up to date.
  const { runner } = await import('node-pg-migrate');
  const quiet = () => undefined;
  try {
    return await withClient(url, async (client) => {
      // Not waited for: the building of an index waits until no statement that is older goes on, such as one that waits for this lock.
      const { rows } = await client.query<{ locked: boolean }>(LOCK);
      if (!rows[0]?.locked) return 'busy';
      await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await rename(client);
      await runner({
        dbClient: client,
        dir: DIRECTORY,
        direction: 'up',
        migrationsTable: TABLE,
        noLock: true,
        migrationLoaderStrategies: [{ extensions: ['.sql'], loader: createMigrationLoader({ usual: LOCK_TIMEOUT_MS, onTheirOwn: PATIENCE_MS }) }],
        // A migration keeps its locks no longer than it runs.
        singleTransaction: false,
        // Those databases may lack a migration that precedes one they have run; within that span, no migration depends on the order.
        checkOrder: false,
        logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      });
      return 'migrated';
    });
  } catch (error) {
    if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return 'blocked';
    throw postgresFailure(error);
  }
}

async function rename(client: Client): Promise<void> {
  const { rows } = await client.query<{ present: boolean }>(`select to_regclass('${TABLE}') is not null as present`);
  if (!rows[0]?.present) return;
  for (const [old, name] of RENAMED) await client.query(`update ${TABLE} set name = $2 where name = $1`, [old, name]);
}

export async function readSchemaState(database: Pick<Database, 'query'>): Promise<SchemaState> {
  const files = await readdir(DIRECTORY);
  const own = files.flatMap((file) => (file.endsWith('.sql') ? [file.slice(0, -'.sql'.length)] : [])).toSorted();
  const ran = new Set(await namesIn(database, TABLE, 'name'));
  const needed = await namesIn(database, 'schema_needs', 'migration');
  return { pending: own.filter((name) => !ran.has(name)), lacking: needed.filter((name) => !own.includes(name)) };
}

/** Nothing while the table does not exist. */
async function namesIn(database: Pick<Database, 'query'>, table: string, column: string): Promise<string[]> {
  const [found] = await database.query<{ present: boolean }>(`${table}.present`, `select to_regclass('${table}') is not null as present`, []);
  if (!found?.present) return [];
  const rows = await database.query<{ name: string }>(`${table}.list`, `select ${column} as name from ${table} order by 1`, []);
  return rows.map(({ name }) => name);
}
