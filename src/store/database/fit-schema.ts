import { failure } from '../../contracts/errors.ts';
import type { Database } from './database.ts';
import { migrate, readSchemaState } from './migrate.ts';

const MOST_NAMED = 5;

/**
 * Makes sure that this version can work with the schema. A newer schema is one that it can work with, unless a migration has said otherwise: so old and new
 * workers run side by side while an installation is updated.
 * @throws DATABASE_NEWER, DATABASE_OLDER
 */
export async function fitSchema(database: Pick<Database, 'query'>, url: string, mayMigrate: 'yes' | 'no'): Promise<void> {
  const { pending, lacking } = await readSchemaState(database);
  if (lacking.length > 0) throw failure('DATABASE_NEWER', { migrations: named(lacking) });
  if (pending.length === 0) return;
  if (mayMigrate === 'no') throw failure('DATABASE_OLDER', { migrations: named(pending) });
  await migrate(url);
}

/** The first of the names, and how many more there are. */
export function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
