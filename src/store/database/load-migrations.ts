import { readFile } from 'node:fs/promises';
import type { MigrationBuilder } from 'node-pg-migrate';

/** In a migration that says so, each statement is committed on its own: an index can then be built while others write (`concurrently`). */
const ON_THEIR_OWN = '-- Each statement on its own';
const DOWN = '-- Down Migration';

interface LoadedMigration {
  id: string;
  filePaths: string[];
  actions: { up(pgm: MigrationBuilder): void; down: false };
}

/**
 * Reads migrations, whose way back is not used.
 * @param locks how long a statement of a migration waits for locks, in milliseconds: one on its own makes nobody else wait meanwhile
 */
export function createMigrationLoader(locks: { usual: number; onTheirOwn: number }): (paths: string[]) => Promise<LoadedMigration[]> {
  return (paths) =>
    Promise.all(
      paths.map(async (path) => {
        const [sql = ''] = (await readFile(path, 'utf8')).split(DOWN);
        const up = sql.includes(ON_THEIR_OWN) ? oneByOne(sql, locks) : (pgm: MigrationBuilder) => pgm.sql(sql);
        return { id: path, filePaths: [path], actions: { up, down: false } };
      }),
    );
}

function oneByOne(sql: string, { usual, onTheirOwn }: { usual: number; onTheirOwn: number }): (pgm: MigrationBuilder) => void {
  const statements = sql.split(/;\s*\n/).filter((text) => /^\w/m.test(text));
  return (pgm) => {
    pgm.noTransaction();
    for (const statement of [`set lock_timeout = ${onTheirOwn}`, ...statements, `set lock_timeout = ${usual}`]) pgm.sql(statement);
  };
}
