import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';

/** Whether the answers of a message can be sent. It need not be the last one: a message that was sent while the agent asked stands after it. */
export const hasAnswers = ({ messages }: { messages: UIMessage[] }): boolean =>
  messages.some((message) => lastAssistantMessageIsCompleteWithApprovalResponses({ messages: [message] }));
