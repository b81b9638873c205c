import { needsOf } from '../../contracts/hosts/needs.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Target } from './host-client.ts';

/** Where the sandbox of a conversation is reached, and for whom. */
export function targetOfRow({ sandboxId, hostId, state, options }: SandboxRow, owner: Pick<Target, 'conversationId' | 'tenantId'>): Target {
  const { conversationId, tenantId } = owner;
  const whose = { sandboxId, tenantId, conversationId };
  if (state !== 'archived') return { ...whose, hostId };
  return { ...whose, hostId: undefined, needs: needsOf(options) };
}
