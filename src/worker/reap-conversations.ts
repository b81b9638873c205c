import type { WorkflowClient } from '@temporalio/client';
import { proposeLeft } from '../activities/step/propose-left.ts';
import { fateOf } from '../client/temporal/fate-of.ts';
import type { Agent } from '../contracts/agent.ts';
import type { Logger } from '../platform/log.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import { isGone } from '../sandbox/api/is-gone.ts';
import type { ConversationStatus } from '../contracts/conversation.ts';
import type { SubAgentCalls } from '../tool-calls/dependencies.ts';
import { NOTHING, tellOfEnd } from '../tool-calls/run/sub-agents.ts';
import { letGoOfShared } from '../tool-calls/run/shared/let-go-of-shared.ts';
import { settleCallsOf } from '../tool-calls/results/settle-call.ts';
import type { Store } from '../store/store.ts';

export interface ConversationReaperParts {
  store: Store;
  sandboxes: Sandboxes;
  /** By id; an agent defines what happens to the sandboxes of its closed conversations. */
  agents: ReadonlyMap<string, Agent>;
  workflows: Pick<WorkflowClient, 'getHandle'>;
  subAgents: Pick<SubAgentCalls, 'close' | 'tellParent' | 'tellOfPlace'>;
  log: Logger;
}

export type ConversationReaper = (signal: AbortSignal) => Promise<string[]>;

/** Conversations that are checked in one round; when there are more, the next round continues there. */
const PER_ROUND = 1000;
const AT_ONCE = 8;
/** A row is created a moment before its workflow; younger rows without a workflow are skipped. Milliseconds. */
const GRACE_MS = 60_000;

/**
 * Creates the function that runs one round. A round closes conversations that their workflow could not close: their rows are open, but the workflow was
 * terminated, has failed, or does not exist. Sub-agents whose parents have ended are asked to close. Returns the ids of those it closed. Several workers may do this at once. A round ends early on abort.
 */
export function createConversationReaper(parts: ConversationReaperParts): ConversationReaper {
  const { store, log } = parts;
  let afterId = '';
  return async (signal) => {
    const open = await store.conversations.listOpen({ afterId, limit: PER_ROUND });
    afterId = open.length === PER_ROUND ? (open.at(-1)?.conversationId ?? '') : '';
    const closed: string[] = [];
    const waiting = open.values();
    const work = async () => {
      for (const { conversationId, agentId, untouchedMs, status } of waiting) {
        if (signal.aborted) return;
        const fate = await fateOf(parts.workflows, conversationId);
        if (fate === 'alive') await closeOrphan(parts, status);
        if (fate === 'alive' || (fate === 'absent' && untouchedMs < GRACE_MS)) continue;
        if (!(await letGoOfSandbox(parts, conversationId, agentId))) continue;
        await settleCalls(store, conversationId);
        if (!(await store.conversations.close(conversationId, { by: 'reaper', workflow: fate }))) continue;
        closed.push(conversationId);
        if (status.parent) await tellOfEnd(parts, { conversationId, parent: status.parent, spent: status.spent ?? NOTHING });
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
    if (closed.length > 0) log.warn({ closed }, 'conversations closed whose workflow had ended without closing them');
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return closed;
  };
}

/** Also those of an answer that were not proposed any more. */
async function settleCalls(store: Store, conversationId: string): Promise<void> {
  const newest = await store.transcript.last(conversationId);
  if (newest?.stepId !== undefined) await proposeLeft(store, { conversationId, turnId: newest.turnId, stepId: newest.stepId });
  await settleCallsOf(store, conversationId);
}

/** A sub-agent whose parent is closed or gone works for nobody: its parent was terminated, or could not wait for it. */
async function closeOrphan({ store, subAgents, log }: ConversationReaperParts, { conversationId, parent }: ConversationStatus): Promise<void> {
  if (!parent) return;
  const row = await store.conversations.get(parent.conversationId);
  if (row && row.state !== 'closed') return;
  log.warn({ conversationId, parent: parent.conversationId }, 'a sub-agent is closed whose parent has ended');
  await subAgents.close(conversationId);
}

/** False when it has to be retried, by this worker or by one of the sandbox's own host. */
async function letGoOfSandbox(parts: ConversationReaperParts, conversationId: string, agentId: string): Promise<boolean> {
  const { store, sandboxes, agents, log } = parts;
  const row = await store.sandboxes.ofConversation(conversationId);
  const keeps = agents.get(agentId)?.sandbox.onClose === 'keep';
  try {
    await letGoOfShared(parts, conversationId);
    if (row && row.state !== 'destroyed') await (keeps ? sandboxes.stop(row.sandboxId) : sandboxes.destroy(row.sandboxId));
  } catch (error) {
    if (isGone(error)) return true;
    log.info({ conversationId, err: error }, 'the sandbox of a closed conversation could not be released now');
    return false;
  }
  return true;
}
