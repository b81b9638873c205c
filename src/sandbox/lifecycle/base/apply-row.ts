import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { Store } from '../../../store/store.ts';
import type { Engine } from '../../engine/engine.ts';

/** `gone`: the container has ended. `other`: the row is neither `frozen` nor `running`. */
export type Applied = 'running' | 'frozen' | 'gone' | 'other';

/**
 * Freezes or thaws the container as the row says, and repeats that until the row did not change meanwhile. So the last call of each process
 * that does this agrees with the newest row, in whatever order the calls reach the engine. No bridge is opened while a container is being frozen, see `openStream`.
 */
export async function applyRow({ engine, rows }: { engine: Engine; rows: Store['sandboxes'] }, sandboxId: string): Promise<Applied> {
  let row = await rows.get(sandboxId);
  for (;;) {
    if (row?.state !== 'running' && row?.state !== 'frozen') return 'other';
    const { state, generation, containerName } = row;
    const pause = async (now: SandboxRow | undefined) => now?.generation !== generation || engine.pause(containerName);
    const isThere = state === 'running' ? await engine.unpause(containerName) : await rows.hold(sandboxId, 'alone', pause);
    if (!isThere) return 'gone';
    const now = await rows.get(sandboxId);
    if (now?.generation === generation) return state;
    row = now;
  }
}
