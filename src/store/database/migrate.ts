import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import type { Database } from './database.ts';
import { postgresFailure } from './database-failures.ts';
import { withClient } from './with-client.ts';

const TABLE = 'longshore_migrations';
/** Old names of migrations, from before the numbers were unique. Development databases have run some of them, in either order. */
const RENAMED = [
  ['0013_turn_ends', '0014_turn_ends'],
  ['0014_finite_expiry', '0015_finite_expiry'],
  ['0014_stored_bytes', '0016_stored_bytes'],
  ['0031_usage_days', '0032_usage_days'],
  ['0033_message_outputs', '0039_message_outputs'],
] as const;
const DIRECTORY = fileURLToPath(new URL('./migrations', import.meta.url));

/** Brings the schema up to date. Several processes may run it at once: the later ones wait for the first. */
export async function migrate(url: string): Promise<void> {
  // Loaded on demand: it costs a tenth of a second that a process does not need when the schema is up to date.
  const { runner } = await import('node-pg-migrate');
  const quiet = () => undefined;
  try {
    await withClient(url, async (client) => {
      await rename(client);
      await runner({
        dbClient: client,
        dir: DIRECTORY,
        direction: 'up',
        migrationsTable: TABLE,
        advisoryLockMode: 'wait',
        // Those databases may lack a migration that precedes one they have run; within that span, no migration depends on the order.
        checkOrder: false,
        logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      });
    });
  } catch (error) {
    throw postgresFailure(error);
  }
}

async function rename(client: Client): Promise<void> {
  const { rows } = await client.query<{ present: boolean }>(`select to_regclass('${TABLE}') is not null as present`);
  if (!rows[0]?.present) return;
  for (const [old, name] of RENAMED) await client.query(`update ${TABLE} set name = $2 where name = $1`, [old, name]);
}

/** True when every migration of this version has run; a schema newer than this version counts too. */
export async function isMigrated(database: Database): Promise<boolean> {
  const [found] = await database.query<{ present: boolean }>('migrations.present', `select to_regclass('${TABLE}') is not null as present`, []);
  if (!found?.present) return false;
  const rows = await database.query<{ name: string }>('migrations.list', `select name from ${TABLE}`, []);
  const names = new Set(rows.map((row) => row.name));
  const files = await readdir(DIRECTORY);
  return files.every((file) => !file.endsWith('.sql') || names.has(file.slice(0, -'.sql'.length)));
}
