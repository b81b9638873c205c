import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Database } from './database.ts';
import { postgresFailure } from './failures.ts';

const TABLE = 'longshore_migrations';
const DIRECTORY = fileURLToPath(new URL('./migrations', import.meta.url));

/** Brings the schema up to date. Safe to run at once from several processes: the later ones wait for the first. */
export async function migrate(url: string): Promise<void> {
  // Loaded on demand: it costs a tenth of a second that processes on an up-to-date schema need not pay.
  const { runner } = await import('node-pg-migrate');
  const quiet = () => undefined;
  try {
    await runner({
      databaseUrl: url,
      dir: DIRECTORY,
      direction: 'up',
      migrationsTable: TABLE,
      advisoryLockMode: 'wait',
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
  } catch (error) {
    throw postgresFailure(error);
  }
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
