import { readEncryptionKeys } from '../../platform/encryption-keys.ts';
import { createLogger } from '../../platform/log.ts';
import type { Store } from '../../store/store.ts';
import type { Cli } from './cli.ts';

/** Opens the database for one piece of work and always closes it. */
export async function withStore(cli: Cli, work: (store: Store) => Promise<void>): Promise<void> {
  const { openStore } = await import('../../store/open-store.ts');
  const { DATABASE_URL: url, LONGSHORE_MIGRATE, LONGSHORE_ENCRYPTION_KEYS } = cli.config();
  const keys = readEncryptionKeys(LONGSHORE_ENCRYPTION_KEYS);
  await using store = await openStore({ url, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), poolSize: 1, migrate: LONGSHORE_MIGRATE, keys });
  await work(store);
}
