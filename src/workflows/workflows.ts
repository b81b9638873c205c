// The entry of the workflows' bundle: Temporal takes every function that it exports for a workflow of that name.
export { conversation } from './conversation.ts';
export { scheduledConversation } from './scheduled-conversation.ts';
