import { RecentMap } from '../common/recent-map.ts';
import type { Agent } from '../contracts/agent.ts';
import { KEPT_CHECKPOINTS } from '../contracts/checkpoints/checkpoint.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Logger } from '../platform/log.ts';
import { startRounds } from '../platform/start-rounds.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import { isLeftAwake } from '../sandbox/visits/is-left-awake.ts';
import { openVisited } from '../sandbox/visits/open-visited.ts';
import { restAgain } from '../sandbox/visits/rest-again.ts';
import type { BackupTry, DueBackup } from '../store/blobs/backups.ts';
import type { Store } from '../store/store.ts';

const LOOK_EVERY_MS = 1000;
const PROLONG_EVERY_MS = 20_000;
const AT_ONCE = 2;
/** Sandboxes of which it is remembered how often their backup failed. */
const MOST_REMEMBERED = 10_000;
const RETRY_MS = { first: 5000, longest: 300_000 };

interface Parts {
  store: Pick<Store, 'backups' | 'sandboxes' | 'sandboxUses' | 'conversations'>;
  sandboxes: Sandboxes;
  agents: ReadonlyMap<string, Agent>;
  hostId: string;
  log: Logger;
}

/**
 * Backs up the sandboxes of this host when that is due, a few at a time, until it is stopped. What fails is logged, said in the row and tried again, at growing
 * intervals; no turn waits for it.
 */
export function startBackups(parts: Parts): { stop(): Promise<void> } {
  const { store, sandboxes, hostId, log } = parts;
  const stopped = new AbortController();
  if (!sandboxes.backUp) return { stop: async () => undefined };
  const atWork = new Map<string, Promise<void>>();
  const failures = new RecentMap<string, number>(MOST_REMEMBERED);
  const look = async () => {
    if (atWork.size >= AT_ONCE) return;
    for (const due of await store.backups.due(hostId)) {
      if (stopped.signal.aborted || atWork.size >= AT_ONCE) return;
      if (atWork.has(due.sandboxId)) continue;
      const work = backUpOne({ ...parts, failures }, due, stopped.signal)
        .catch((error: unknown) => log.warn({ sandboxId: due.sandboxId, err: error }, 'a backup could not be begun or ended'))
        .finally(() => atWork.delete(due.sandboxId));
      atWork.set(due.sandboxId, work);
    }
  };
  const rounds = startRounds({
    everyMs: LOOK_EVERY_MS,
    work: look,
    onFailure: (error) => log.debug({ err: error }, 'backups that are due could not be looked up'),
  });
  return {
    async stop() {
      stopped.abort();
      await rounds.stop();
      await Promise.all(atWork.values());
    },
  };
}

async function backUpOne(parts: Parts & { failures: RecentMap<string, number> }, due: DueBackup, signal: AbortSignal): Promise<void> {
  const { store, log } = parts;
  const attempt = await store.backups.begin(due.sandboxId);
  if (attempt === undefined) return;
  const prolonging = setInterval(() => {
    store.backups.prolong(attempt).catch((error: unknown) => log.debug({ sandboxId: due.sandboxId, err: error }, 'a backup could not be prolonged'));
  }, PROLONG_EVERY_MS);
  try {
    await attemptOne(parts, due, attempt, signal);
  } finally {
    clearInterval(prolonging);
  }
}

async function attemptOne(parts: Parts & { failures: RecentMap<string, number> }, due: DueBackup, attempt: BackupTry, signal: AbortSignal): Promise<void> {
  const { store, sandboxes, agents, failures } = parts;
  const { sandboxId } = attempt;
  const keep = due.agentId !== undefined && agents.has(due.agentId) && !agents.get(due.agentId)?.checkpoints ? 1 : KEPT_CHECKPOINTS + 2;
  try {
    const outcome = await sandboxes.backUp?.(attempt, { keep, signal });
    if (outcome === 'stored' || outcome === 'unchanged') failures.delete(sandboxId);
    else await store.backups.release(attempt, RETRY_MS.first);
  } catch (error) {
    if (signal.aborted) return store.backups.release(attempt, 0);
    await noteFailure(parts, attempt, error);
  }
  return restAfter(parts, due);
}

async function noteFailure({ store, failures, log }: Parts & { failures: RecentMap<string, number> }, attempt: BackupTry, error: unknown): Promise<void> {
  const { sandboxId } = attempt;
  const count = failures.get(sandboxId) ?? 0;
  failures.set(sandboxId, count + 1);
  const againMs = Math.min(RETRY_MS.first * 2 ** count, RETRY_MS.longest);
  // A failure would be the last try for one that rests.
  if (isFailure(error, 'HOST_FULL')) return store.backups.release(attempt, againMs);
  const problem = error instanceof Error ? error.message : String(error);
  log.warn({ sandboxId, err: error }, 'a sandbox could not be backed up; this is tried again');
  await store.backups.fail(attempt, problem, againMs);
}

/** Brings a sandbox back to rest that was woken for its backup, or that would have been frozen meanwhile if there had been none. */
async function restAfter(parts: Parts, { sandboxId, state }: DueBackup): Promise<void> {
  const { store, sandboxes } = parts;
  const row = await store.sandboxes.get(sandboxId);
  if (row?.state !== 'running') return;
  if (state !== 'running') return restAgain(parts, { ...row, state }, (await openVisited(sandboxes, row)).handle);
  if (await isLeftAwake(parts, row)) await sandboxes.freeze(sandboxId);
}
