import { freezeAfter } from '../../contracts/limits/rest-times.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { ownerOf, workerIn } from './held.ts';

const IDLE: ReadonlySet<string> = new Set(['idle', 'awaiting-approval']);

interface Desk {
  store: Pick<Store, 'conversations' | 'sandboxUses'>;
}

/** Whether the sandbox of a conversation runs though it has been idle for longer than until it is frozen, and `lateMs` more. */
export async function isLeftAwake(desk: Desk, row: SandboxRow, { lateMs = 0 } = {}): Promise<boolean> {
  const afterMs = freezeAfter(row.options);
  if (row.state !== 'running' || afterMs === 0 || row.idleMs <= afterMs + lateMs) return false;
  const owner = await ownerOf(desk, row);
  return owner !== undefined && IDLE.has(owner.state) && (await workerIn(desk, owner)) === undefined;
}
