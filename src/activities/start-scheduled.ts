import type { StartConversation } from '../tool-calls/dependencies.ts';
import { scheduledConversationId, type StartScheduledArgs, type StartScheduledResult } from '../contracts/schedule.ts';

/** No person watches the conversation of a schedule, so it always runs unattended. */
export function createStartScheduled({ startConversation }: { startConversation: StartConversation }) {
  return async function startScheduled({ agent, user, tenant, message, keepOpen, scheduledBy }: StartScheduledArgs): Promise<StartScheduledResult> {
    const conversationId = scheduledConversationId(scheduledBy);
    await startConversation({ agent, user, tenant, message, conversationId, unattended: true, closeWhenDone: !keepOpen, scheduledBy });
    return { conversationId };
  };
}
