import { createTurnsByKey } from '../../common/turns.ts';
import type { Logger } from '../../platform/log.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import { openVisited } from '../../sandbox/visits/open-visited.ts';
import { restAgain, type VisitParts } from '../../sandbox/visits/rest-again.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';

/** The visits of callers to sandboxes, beside the sandboxes' conversations. */
export interface Visits extends AsyncDisposable {
  /**
   * Wakes the sandbox and works in it. After the last visit it returns to the tier in which the first one found it.
   * @param find gives the row of the sandbox, or throws when it may not be visited
   */
  visit<T>(sandboxId: string, find: () => Promise<SandboxRow>, work: (handle: WorkerHandle) => Promise<T>): Promise<T>;
}

/** Visits of one sandbox that follow each other within this time are one. */
const LINGER_MS = 5_000;

interface Stay {
  found: SandboxRow;
  visitors: number;
  handle?: WorkerHandle;
  /** By the end of the worker. It may have left a command that runs. */
  isCut?: true;
  leaving?: NodeJS.Timeout;
}

export function createVisits(parts: VisitParts & { log: Logger; stopping: AbortSignal }): Visits {
  const stays = new Map<string, Stay>();
  const inTurn = createTurnsByKey();
  const enter = async (sandboxId: string, find: () => Promise<SandboxRow>) => {
    // Every visit is checked, since the conversation may have been paused.
    const row = await find();
    const stay = stays.get(sandboxId) ?? { found: row, visitors: 0 };
    // Put to rest between two visits, it rests again after the last one.
    if (row.state !== 'running') stay.found = row;
    clearTimeout(stay.leaving);
    stay.visitors += 1;
    stays.set(sandboxId, stay);
    return { stay, row };
  };
  const rest = async (sandboxId: string, stay: Stay) => {
    if (stay.visitors > 0 || stays.get(sandboxId) !== stay) return;
    stays.delete(sandboxId);
    if (stay.isCut) return;
    await restAgain(parts, stay.found, stay.handle).catch((error: unknown) => parts.log.warn({ sandboxId, err: error }, 'a visited sandbox stays awake'));
  };
  return {
    async visit(sandboxId, find, work) {
      const { stay, row } = await inTurn(sandboxId, () => enter(sandboxId, find));
      try {
        stay.handle = (await openVisited(parts.sandboxes, row, { mayWake: find })).handle;
        return await work(stay.handle);
      } finally {
        stay.visitors -= 1;
        if (parts.stopping.aborted) stay.isCut = true;
        if (stay.visitors === 0) stay.leaving = setTimeout(() => void inTurn(sandboxId, () => rest(sandboxId, stay)), LINGER_MS);
      }
    },
    async [Symbol.asyncDispose]() {
      for (const { leaving } of stays.values()) clearTimeout(leaving);
      await Promise.all([...stays].map(([sandboxId, stay]) => inTurn(sandboxId, () => rest(sandboxId, stay))));
    },
  };
}
