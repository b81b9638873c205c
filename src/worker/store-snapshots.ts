import type { Logger } from '../platform/log.ts';
import { startRounds } from '../platform/start-rounds.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';

const LOOK_EVERY_MS = 10_000;

/** Puts snapshots of this host into the blob store that their making has not put there: those from before there were other hosts, and those of programs that died. */
export function startStoringSnapshots({ sandboxes, log }: { sandboxes: Pick<Sandboxes, 'storeSnapshots'>; log: Logger }): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const rounds = startRounds({
    everyMs: LOOK_EVERY_MS,
    work: async () => sandboxes.storeSnapshots?.(stopped.signal),
    onFailure: (error) => log.debug({ err: error }, 'snapshots that are to be stored could not be looked up'),
  });
  return {
    stop() {
      stopped.abort();
      return rounds.stop();
    },
  };
}
