import type { CloseSubAgentArgs, CloseSubAgentResult } from '../contracts/activities.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { logEnd, spentBySubAgent, subAgentId } from '../tool-calls/run/sub-agents.ts';

/** Requests the end of a call's sub-agent. Its conversation reports its end by itself, which may come after the end of the one that closes it. */
export function createCloseSubAgent({ store, subAgents }: Pick<ActivityDependencies, 'store' | 'subAgents'>) {
  return async function closeSubAgent(call: CloseSubAgentArgs): Promise<CloseSubAgentResult> {
    const conversationId = subAgentId(call.callId);
    const spent = await spentBySubAgent(store, call.callId);
    if (spent) await logEnd(store, conversationId, call);
    else await subAgents.close(conversationId);
    return spent ? { spent } : {};
  };
}
