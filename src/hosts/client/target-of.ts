import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Target } from './host-client.ts';

/** Where the sandbox of a conversation is reached, and for whom. */
export function targetOfRow({ sandboxId, hostId, state }: SandboxRow, owner: Pick<Target, 'conversationId' | 'tenantId'>): Target {
  const { conversationId, tenantId } = owner;
  return { sandboxId, tenantId, conversationId, hostId: state === 'archived' ? undefined : hostId };
}
