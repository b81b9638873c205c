import type { StartConversation } from '../tool-calls/dependencies.ts';
import { scheduledConversationId, type StartScheduledArgs, type StartScheduledResult } from '../contracts/schedule.ts';

/** Nobody is there when a schedule's conversation works, so it runs unattended, whatever its agent allows when somebody is. */
export function createStartScheduled({ startConversation }: { startConversation: StartConversation }) {
  return async function startScheduled({ agent, user, tenant, message, keepOpen, scheduledBy }: StartScheduledArgs): Promise<StartScheduledResult> {
    const conversationId = scheduledConversationId(scheduledBy);
    await startConversation({ agent, user, tenant, message, conversationId, unattended: true, closeWhenDone: !keepOpen, scheduledBy });
    return { conversationId };
  };
}
