import { setTimeout as sleep } from 'node:timers/promises';
import { isPostgresAway } from './database-failures.ts';

const RETRY_MS = 2_000;

/** What `read` finds. While the database cannot be reached, it is asked again every two seconds; nothing once `signal` is aborted. */
export async function whenReachable<T>(read: () => Promise<readonly T[]>, signal: AbortSignal): Promise<readonly T[]> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isPostgresAway(error)) throw error;
      if (!(await sleep(RETRY_MS, true, { signal }).catch(() => false))) return [];
    }
  }
}
