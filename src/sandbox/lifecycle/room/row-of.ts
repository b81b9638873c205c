import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';

/** A conversation may have a sandbox with another id. */
export async function rowOf({ rows }: DockerContext, { sandboxId, conversationId }: SandboxOwner): Promise<SandboxRow | undefined> {
  const known = conversationId === undefined ? undefined : await rows.ofConversation(conversationId);
  if (known !== undefined) return known;
  const row = await rows.get(sandboxId);
  // Another conversation may have one with its id. A copy that was made for it has no conversation yet.
  return conversationId === undefined || row?.conversationId === undefined ? row : undefined;
}
