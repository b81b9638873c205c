import type { SandboxOptions } from '../../contracts/agent.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Target } from './host-client.ts';

/** Where the sandbox of a conversation is reached, and for whom. */
export function targetOfRow({ sandboxId, hostId, state, options }: SandboxRow, owner: Pick<Target, 'conversationId' | 'tenantId'>): Target {
  const { conversationId, tenantId } = owner;
  const whose = { sandboxId, tenantId, conversationId };
  if (state !== 'archived') return { ...whose, hostId };
  const { hostLabels } = options as SandboxOptions;
  return { ...whose, hostId: undefined, ...(hostLabels && { hostLabels }) };
}
