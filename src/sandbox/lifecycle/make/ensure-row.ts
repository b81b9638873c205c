import type { SandboxOptions } from '../../../contracts/agent.ts';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import { containerNameOf, volumeNameOf } from '../../engine/labels.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { isOwn, withOtherId, withUsableId } from '../base/own-ids.ts';
import { withdrawUnseen } from '../remove/withdraw.ts';

/** The sandbox's row: a new or existing one with the owner's id, or the row of the sandbox that the conversation already has. */
export async function ensureRow(context: DockerContext, given: SandboxOwner, options: SandboxOptions): Promise<SandboxRow> {
  const owner = withUsableId(given);
  const found = await ensure(context, owner, options);
  if (isOwn(found, owner)) return found;
  const own = owner.anyId === false ? found : await ensure(context, withOtherId(owner), options);
  if (isOwn(own, owner)) return own;
  throw failure('SANDBOX_CONFLICT', { sandboxId: own.sandboxId });
}

async function ensure(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<SandboxRow> {
  const { rows, installation, hostId } = context;
  const { sandboxId, conversationId, tenantId, ttlMs } = owner;
  const row = {
    sandboxId,
    ...(conversationId !== undefined && { conversationId }),
    tenantId,
    state: 'creating' as const,
    hostId,
    containerName: containerNameOf(installation, sandboxId),
    volumeName: volumeNameOf(installation, sandboxId),
    options: { ...options },
    ...(ttlMs !== undefined && { ttlMs }),
  };
  try {
    return await rows.ensure(row);
  } catch (error) {
    if (!isFailure(error, 'HOST_FULL')) await withdrawUnseen(context, sandboxId);
    throw error;
  }
}
