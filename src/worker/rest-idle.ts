import type { Logger } from '../platform/log.ts';
import { startRounds } from '../platform/start-rounds.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import { isLeftAwake } from '../sandbox/visits/is-left-awake.ts';
import type { SandboxRow } from '../store/sandbox-rows.ts';
import type { Store } from '../store/store.ts';

interface Parts {
  store: Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  sandboxes: Pick<Sandboxes, 'hostId' | 'freeze'>;
  log: Logger;
}

const LOOK_EVERY_MS = 30_000;
/** So much later than its conversation freezes it. */
const LATE_MS = 60_000;
/** One that another process works in stands still for a moment each time, and runs on: the time until the next try doubles. */
const MOST_LATE_MS = 60 * 60_000;

/**
 * Freezes sandboxes of this host that have been left awake: their conversation could not freeze them, since a visitor worked in them at that moment, or the worker
 * of a visit or a backup was killed before it put them to rest. What still works in one goes on, as after any freeze of an idle sandbox.
 */
export function startRestingIdle(parts: Parts, everyMs = LOOK_EVERY_MS): { stop(): Promise<void> } {
  const { log } = parts;
  const stopped = new AbortController();
  const lateMs: LateMs = new Map();
  const rounds = startRounds({
    everyMs,
    work: () => restAll(parts, lateMs, stopped.signal),
    onFailure: (error) => log.warn({ err: error }, 'sandboxes that were left awake could not be looked up'),
  });
  return {
    stop() {
      stopped.abort();
      return rounds.stop();
    },
  };
}

/** How late each sandbox is frozen that ran on after a try. */
type LateMs = Map<string, number>;

async function restAll(parts: Parts, lateMs: LateMs, signal: AbortSignal): Promise<void> {
  const { store, sandboxes, log } = parts;
  const { hostId } = sandboxes;
  if (hostId === undefined) return;
  const running = await store.sandboxes.list({ hostId, states: ['running'] });
  const ids = new Set(running.map(({ sandboxId }) => sandboxId));
  for (const sandboxId of lateMs.keys()) if (!ids.has(sandboxId)) lateMs.delete(sandboxId);
  for (const row of running) {
    const { sandboxId } = row;
    try {
      const late = lateMs.get(sandboxId) ?? LATE_MS;
      if (signal.aborted || !(await isLeft(parts, row, late))) continue;
      lateMs.set(sandboxId, Math.min(late * 2, MOST_LATE_MS));
      const tier = await sandboxes.freeze(sandboxId, { mode: 'idle' });
      log.info({ sandboxId, conversationId: row.conversationId, tier }, 'a sandbox had been left awake');
    } catch (error) {
      log.warn({ sandboxId, err: error }, 'a sandbox that was left awake could not be frozen');
    }
  }
}

/** A call that runs, as one of a sub-agent that is paused, keeps it awake. */
async function isLeft(parts: Parts, row: SandboxRow, lateMs: number): Promise<boolean> {
  if (row.conversationId === undefined || !(await isLeftAwake(parts, row, { lateMs }))) return false;
  return (await parts.store.sandboxUses.inUse(row.conversationId)) !== 'works';
}
