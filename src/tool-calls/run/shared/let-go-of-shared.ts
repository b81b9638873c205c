import type { Agent } from '../../../contracts/agent.ts';
import { isGone } from '../../../sandbox/api/is-gone.ts';
import type { Sandboxes } from '../../../sandbox/api/host-sandboxes.ts';
import type { Store } from '../../../store/store.ts';

interface Parts {
  store: Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  sandboxes: Pick<Sandboxes, 'destroy' | 'stop'>;
  agents: ReadonlyMap<string, Agent>;
}

const HAS_PROCESSES: ReadonlySet<string> = new Set(['creating', 'running', 'frozen', 'hibernated']);

/**
 * At the end of a sub-agent that shared a sandbox: when the conversation that it belongs to has ended before, whose end found none yet, nothing else would end it. Does
 * nothing for other conversations, and may be repeated.
 */
export async function letGoOfShared({ store, sandboxes, agents }: Parts, conversationId: string): Promise<void> {
  const owner = (await store.sandboxUses.of(conversationId))?.owner;
  if (!owner || (await store.conversations.stateOf(owner.conversationId)) !== 'closed') return;
  const row = await store.sandboxes.ofConversation(owner.conversationId);
  if (!row || row.state === 'destroyed') return;
  const keeps = agents.get(owner.agentId)?.sandbox.onClose === 'keep';
  if (keeps && !HAS_PROCESSES.has(row.state)) return;
  try {
    await (keeps ? sandboxes.stop(row.sandboxId) : sandboxes.destroy(row.sandboxId));
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
