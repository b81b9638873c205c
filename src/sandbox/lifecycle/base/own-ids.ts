import { createHash } from 'node:crypto';
import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';

const SANDBOX_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;

export function checkId(sandboxId: string): void {
  if (SANDBOX_ID.test(sandboxId)) return;
  throw failure('INVALID_ARGUMENT', { what: 'sandboxId', problem: JSON.stringify(sandboxId), fix: 'Use up to 100 letters, digits, "_", "." and "-"' });
}

/**
 * Whether a row that has the owner's sandbox id is the owner's. Two conversations, also of two tenants, may give the same id ("conv_x" and "x"), and an import that was
 * refused leaves a sandbox under the id of a conversation that begins later.
 */
export function isOwn(row: SandboxRow, { conversationId, tenantId }: SandboxOwner): boolean {
  return row.tenantId === tenantId && (conversationId === undefined || row.conversationId === conversationId);
}

/** For a conversation whose sandbox id is another's, or too long: an id that is always the same. @throws SANDBOX_NOT_FOUND without a conversation */
export function withOtherId<Owner extends SandboxOwner>(owner: Owner): Owner {
  const { conversationId, sandboxId } = owner;
  if (conversationId === undefined) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  return { ...owner, sandboxId: `sbx_${createHash('sha256').update(conversationId).digest('hex').slice(0, 32)}` };
}

/** The owner with an id that a sandbox can have: that of a conversation may be longer. @throws INVALID_ARGUMENT */
export function withUsableId<Owner extends SandboxOwner>(owner: Owner): Owner {
  if (owner.conversationId !== undefined && !SANDBOX_ID.test(owner.sandboxId)) return withOtherId(owner);
  checkId(owner.sandboxId);
  return owner;
}
