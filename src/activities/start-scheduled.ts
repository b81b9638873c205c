import { scheduledConversationId, type ScheduledBy, type StartScheduledArgs, type StartScheduledResult } from '../contracts/schedule.ts';

/** Starts a conversation, or finds the one of that id. */
export type StartConversation = (options: {
  agent: string;
  user: string;
  tenant: string;
  message: string;
  conversationId: string;
  unattended: true;
  closeWhenDone: boolean;
  scheduledBy: ScheduledBy;
}) => Promise<{ conversationId: string }>;

/** Nobody is there when a schedule's conversation works, so it runs unattended, whatever its agent allows when somebody is. */
export function createStartScheduled({ startConversation }: { startConversation: StartConversation }) {
  return async function startScheduled({ agent, user, tenant, message, keepOpen, scheduledBy }: StartScheduledArgs): Promise<StartScheduledResult> {
    const conversationId = scheduledConversationId(scheduledBy);
    await startConversation({ agent, user, tenant, message, conversationId, unattended: true, closeWhenDone: !keepOpen, scheduledBy });
    return { conversationId };
  };
}
