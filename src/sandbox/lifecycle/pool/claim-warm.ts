import type { SandboxOptions } from '../../../contracts/agent.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { SandboxOwner } from '../../api/sandbox.ts';
import type { DockerContext } from '../base/context.ts';
import { answers } from './answers.ts';
import { keyOf } from './key-of.ts';

/** A warm sandbox that does not answer by then is opened like any other that may have died. Milliseconds. */
const ANSWER_MS = 1000;

/**
 * Gives a warm sandbox, if one is kept that is what is asked for: to a conversation, which finds it again under an id that it has not chosen, and to whoever
 * takes any id. Undefined when there is none. One that does not answer at once is given as well: its row is `creating` still, and opening it starts its
 * container anew.
 */
export async function claimWarm(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<SandboxRow | undefined> {
  const { poolRows, pools, connections, hostId } = context;
  const { sandboxId, conversationId, tenantId, ttlMs, anyId = conversationId !== undefined } = owner;
  if (!anyId) return undefined;
  // Who works without conversations keeps no pool, and takes from those that workers of the host keep.
  const key = pools.keyFor(options) ?? (conversationId === undefined ? await keyOf(context, options) : undefined);
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
    // Not before: making the next one takes what this one's owner is waiting for.
    pools.claimed();
  }
}

async function handOut({ connections, rows, log }: DockerContext, claimed: SandboxRow): Promise<SandboxRow | undefined> {
  if (!connections.isOpen(claimed.sandboxId) || !(await answers({ connections, log }, claimed, ANSWER_MS))) return undefined;
  const running = await rows.change(claimed.sandboxId, claimed.generation, { state: 'running' });
  if (running) log.info({ sandboxId: running.sandboxId, conversationId: running.conversationId }, 'warm sandbox given away');
  return running;
}
