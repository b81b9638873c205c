import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';

/**
 * Makes a conversation the owner of an existing sandbox; without `conversationId`, no conversation owns it.
 * @throws SANDBOX_NOT_FOUND, also for a sandbox of another tenant; SANDBOX_IN_USE while another open conversation owns it
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
