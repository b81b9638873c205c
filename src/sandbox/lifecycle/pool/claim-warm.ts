import type { SandboxOptions } from '../../../contracts/agent.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { answers } from './answers.ts';
import { matchingPoolKey } from './key-of.ts';

/** A warm sandbox that does not answer within this time is opened like a new one. Milliseconds. */
const ANSWER_MS = 1000;

/**
 * Claims a warm sandbox that matches the options, if there is one. Only for an owner that accepts any sandbox id; a conversation does, because it finds its
 * sandbox by the conversation's id. Undefined when there is none. A sandbox that does not answer in time is claimed as well: its row stays `creating`, and
 * the open makes sure that its container runs.
 */
export async function claimWarm(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<SandboxRow | undefined> {
  const { poolRows, pools, connections, hostId } = context;
  const { sandboxId, conversationId, tenantId, ttlMs, anyId = conversationId !== undefined } = owner;
  if (!anyId) return undefined;
  // A program that uses sandboxes without conversations keeps no pool; it claims from the pools of the host's workers.
  const key = pools.keyFor(options) ?? (conversationId === undefined ? await matchingPoolKey(context, options) : undefined);
  if (key === undefined) return undefined;
  const preferred = (pools.met.get(key) ?? []).filter((id) => connections.isOpen(id));
  const claimant = {
    sandboxId,
    tenantId,
    options: { ...options },
    ...(conversationId !== undefined && { conversationId }),
    ...(ttlMs !== undefined && { ttlMs }),
  };
  const claimed = await poolRows.claim({ hostId, key, preferred }, claimant);
  if (!claimed) return undefined;
  try {
    return (await handOut(context, claimed)) ?? claimed;
  } finally {
    // Last, because making the next warm sandbox would slow down this claim.
    pools.claimed();
  }
}

async function handOut({ connections, rows, log }: DockerContext, claimed: SandboxRow): Promise<SandboxRow | undefined> {
  if (!connections.isOpen(claimed.sandboxId) || !(await answers({ connections, log }, claimed, ANSWER_MS))) return undefined;
  const running = await rows.change(claimed.sandboxId, claimed.generation, { state: 'running' });
  if (running) log.info({ sandboxId: running.sandboxId, conversationId: running.conversationId }, 'warm sandbox claimed');
  return running;
}
