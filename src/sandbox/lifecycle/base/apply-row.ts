import type { Store } from '../../../store/store.ts';
import type { Engine } from '../../engine/engine.ts';

/** `gone`: the container has ended. `other`: the row is neither `frozen` nor `running`. */
export type Applied = 'running' | 'frozen' | 'gone' | 'other';

/**
 * Freezes or thaws the container as the row says, and repeats that until the row did not change meanwhile. So the last call of each process
 * that does this agrees with the newest row, in whatever order the calls reach the engine.
 */
export async function applyRow({ engine, rows }: { engine: Engine; rows: Store['sandboxes'] }, sandboxId: string): Promise<Applied> {
  let row = await rows.get(sandboxId);
  for (;;) {
    if (row?.state !== 'running' && row?.state !== 'frozen') return 'other';
    const isThere = row.state === 'running' ? await engine.unpause(row.containerName) : await engine.pause(row.containerName);
    if (!isThere) return 'gone';
    const now = await rows.get(sandboxId);
    if (now?.generation === row.generation) return row.state;
    row = now;
  }
}
