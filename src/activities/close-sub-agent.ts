import type { CloseSubAgentArgs, CloseSubAgentResult } from '../contracts/activities.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { spentBySubAgent, subAgentId } from '../tool-calls/run/sub-agents.ts';

/** Requests the end of a call's sub-agent. Its conversation reports its end by itself. */
export function createCloseSubAgent({ store, subAgents }: Pick<ActivityDependencies, 'store' | 'subAgents'>) {
  return async function closeSubAgent({ callId }: CloseSubAgentArgs): Promise<CloseSubAgentResult> {
    const spent = await spentBySubAgent(store, callId);
    if (spent) return { spent };
    await subAgents.close(subAgentId(callId));
    return {};
  };
}
