import { RecentMap } from '../../common/recent-map.ts';
import type { Logger } from '../../platform/log.ts';
import { startRounds } from '../../platform/start-rounds.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import { ON_HOST, type SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';

interface DrainParts {
  store: Pick<Store, 'sandboxes' | 'sandboxUses' | 'fleet'>;
  sandboxes: Sandboxes;
  log: Logger;
}

const LOOK_EVERY_MS = 2_000;
/** Sandboxes that are packed at the same time. */
const AT_ONCE = 3;
/** A sandbox that was thawed after it was frozen is in use by another process; each time that it is frozen costs that process a moment. */
const FREEZE_EVERY_MS = 10_000;
const MOST_REMEMBERED = 10_000;

/** While this host is being drained, takes its sandboxes from it, those in use when they are free. What a worker that was killed had begun is begun again. */
export function startDraining(parts: DrainParts): { stop(): Promise<void> } {
  const { sandboxes, log } = parts;
  const stopped = new AbortController();
  const frozenAt: FrozenAt = new RecentMap(MOST_REMEMBERED);
  const rounds = startRounds({
    everyMs: LOOK_EVERY_MS,
    async work() {
      if (sandboxes.isDraining?.() === true) await drain({ ...parts, frozenAt }, stopped.signal);
    },
    onFailure: (error) => log.warn({ err: error }, 'the host could not be drained now'),
  });
  return {
    stop() {
      stopped.abort();
      return rounds.stop();
    },
  };
}

/** When each sandbox was frozen that has not been moved yet. */
type FrozenAt = RecentMap<string, number>;

async function drain(parts: DrainParts & { frozenAt: FrozenAt }, signal: AbortSignal): Promise<void> {
  const { hostId } = parts.sandboxes;
  if (hostId === undefined) return;
  const waiting = (await parts.store.sandboxes.list({ hostId, states: ON_HOST })).values();
  const work = async () => {
    for (const row of waiting) {
      // It may have been taken back since the round began.
      if (signal.aborted || parts.sandboxes.isDraining?.() !== true) return;
      await move(parts, row);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function move({ store, sandboxes, frozenAt, log }: DrainParts & { frozenAt: FrozenAt }, row: SandboxRow): Promise<void> {
  const { sandboxId, conversationId, state } = row;
  if (state === 'running' && performance.now() - (frozenAt.get(sandboxId) ?? -Infinity) < FREEZE_EVERY_MS) return;
  const inUse = async () => (conversationId === undefined ? ('no' as const) : store.sandboxUses.inUse(conversationId));
  try {
    const end = await sandboxes.evacuate?.(sandboxId, inUse);
    if (end === 'frozen') frozenAt.set(sandboxId, performance.now());
    if (end === 'moved') log.info({ sandboxId, conversationId }, 'a sandbox was taken from this host, which is being drained');
  } catch (error) {
    log.warn({ sandboxId, err: error }, 'a sandbox could not be taken from this host now');
  }
}
