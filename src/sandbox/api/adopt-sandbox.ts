import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';

/**
 * Takes a sandbox that is there already, for a conversation or for use without one. Nobody learns of the sandboxes of another tenant.
 * @throws SANDBOX_NOT_FOUND; SANDBOX_IN_USE while another conversation that is open has it
 */
export async function adoptSandbox(
  rows: Store['sandboxes'],
  { sandboxId, tenantId, conversationId }: { sandboxId: string; tenantId: string; conversationId?: string },
): Promise<void> {
  if (await rows.adopt(sandboxId, tenantId, conversationId)) return;
  const row = await rows.get(sandboxId);
  if (row?.tenantId !== tenantId || row.conversationId === undefined) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  throw failure('SANDBOX_IN_USE', { sandboxId, conversationId: row.conversationId });
}
