// The entry of the workflow bundle: Temporal registers every function that it exports as a workflow of that name.
export { conversation } from './conversation.ts';
export { scheduledConversation } from './scheduled-conversation.ts';
export { webhookSender } from './webhook-sender.ts';
