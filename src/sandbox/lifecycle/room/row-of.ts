import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** A conversation may have a sandbox with another id. */
export async function rowOf({ rows }: DockerContext, { sandboxId, conversationId }: SandboxOwner): Promise<SandboxRow | undefined> {
  return conversationId === undefined ? rows.get(sandboxId) : rows.ofConversation(conversationId);
}
