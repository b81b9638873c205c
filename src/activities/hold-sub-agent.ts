import type { HoldSubAgentArgs } from '../contracts/activities.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { subAgentId } from '../tool-calls/run/sub-agents.ts';

export function createHoldSubAgent({ subAgents }: Pick<ActivityDependencies, 'subAgents'>) {
  return async function holdSubAgent({ callId, pause }: HoldSubAgentArgs): Promise<void> {
    const conversationId = subAgentId(callId);
    await (pause ? subAgents.pause(conversationId, pause) : subAgents.resume(conversationId));
  };
}
