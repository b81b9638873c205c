import type { SandboxOptions } from '../../../contracts/agent.ts';
import type { SandboxRow } from '../../../store/store.ts';
import type { SandboxOwner } from '../../sandbox.ts';
import type { DockerContext } from '../context.ts';
import { answers } from './answers.ts';

/** A warm sandbox that does not answer by then is opened like any other that may have died. Milliseconds. */
const ANSWER_MS = 1000;

/**
 * Gives a conversation a warm sandbox, if one is kept that is what it asks for. Undefined when there is none, or when the one that it has been given does
 * not answer: that one's row is the conversation's, and opening it starts its container anew. The row's id is the pool's and not the owner's.
 */
export async function claimWarm(context: DockerContext, owner: SandboxOwner, options: SandboxOptions): Promise<SandboxRow | undefined> {
  const { poolRows, pools, connections, hostId } = context;
  const key = pools.keyFor(options);
  const { conversationId } = owner;
  // Only a conversation finds its sandbox again under an id that it has not chosen.
  if (key === undefined || conversationId === undefined) return undefined;
  const preferred = (pools.met.get(key) ?? []).filter((id) => connections.isOpen(id));
  const claimed = await poolRows.claim({ hostId, key, preferred }, { ...owner, conversationId, options: { ...options } });
  if (!claimed) return undefined;
  try {
    return await handOut(context, claimed);
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
