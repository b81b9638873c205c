import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';

const DIRECTORY = 'src/store/database/migrations';
const quiet = () => undefined;

/** Runs the migrations up to a number, as an earlier version of the program would. */
export async function migrateTo(url: string, last: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-migrations-'));
  for (const file of (await readdir(DIRECTORY)).filter((name) => Number(name.slice(0, 4)) <= last)) await cp(join(DIRECTORY, file), join(dir, file));
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  await runner({ databaseUrl: url, dir, direction: 'up', migrationsTable: 'longshore_migrations', checkOrder: false, logger });
  await rm(dir, { recursive: true });
}
