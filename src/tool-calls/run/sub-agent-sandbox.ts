import type { SubAgent } from '../../contracts/agent.ts';
import type { ParentSandbox } from '../../contracts/sub-agents/sandbox-use.ts';
import type { ConversationRow } from '../../store/store.ts';

/**
 * Where a sub-agent works. It is decided once: one that is known stays where it is, whatever becomes of the agent's file.
 * @param giver the conversation that gives the task
 */
export function sandboxOfTask(
  { sandbox: use = 'own' }: SubAgent,
  giver: ConversationRow | undefined,
  known: ConversationRow | undefined,
): ParentSandbox | undefined {
  if (known) return known.status.parent?.sandbox;
  if (use === 'own' || giver === undefined) return undefined;
  if (use === 'none' || use === 'fork') return { use };
  return sharedWith(use, giver);
}

/** Who shares a sandbox gives no more of it than it has. */
function sharedWith(use: 'shared' | 'shared-read-only', { conversationId, status }: ConversationRow): ParentSandbox {
  const own = status.parent?.sandbox;
  if (own === undefined || own.use === 'fork') return { use, conversationId };
  return own.use === 'shared' ? { ...own, use } : own;
}
