import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';

/**
 * The row that was found for an owner, if it is the owner's: ids of sandboxes are made of ids that callers choose, so that a caller could come to the sandbox of another.
 * @throws SANDBOX_NOT_FOUND, SANDBOX_IN_USE
 */
export function checkOwner(row: SandboxRow, { conversationId, tenantId }: Pick<SandboxOwner, 'conversationId' | 'tenantId'>): SandboxRow {
  const { sandboxId } = row;
  if (row.tenantId !== tenantId) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  if (conversationId === undefined || row.conversationId === conversationId) return row;
  throw row.conversationId === undefined
    ? failure('SANDBOX_NOT_FOUND', { sandboxId })
    : failure('SANDBOX_IN_USE', { sandboxId, conversationId: row.conversationId });
}
