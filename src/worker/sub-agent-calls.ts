import type { ConversationCalls } from '../client/conversation-calls.ts';
import type { StartRequest } from '../client/start-conversation.ts';
import type { SubAgentCalls } from '../tool-calls/dependencies.ts';
import type { Signal } from './signals.ts';

/** What the status of a sub-agent says. */
const PAUSED_WITH_PARENT = 'the conversation that waits for it is paused';

/** The calls to conversations of sub-agents and of their parents. */
export function createSubAgentCalls(
  signal: Signal,
  startConversation: (options: StartRequest) => Promise<{ conversationId: string }>,
  sendMessage: ConversationCalls['send'],
): SubAgentCalls {
  return {
    async start({ unattended, ...options }) {
      await startConversation({ ...options, closeWhenDone: true, ...(unattended && { unattended }) });
    },
    async send(conversationId, messageId, text) {
      await sendMessage(conversationId, text, { messageId, whenBusy: 'steer' });
    },
    close: (conversationId) => signal(conversationId, 'close'),
    pause: (conversationId, mode) => signal(conversationId, 'pause', { mode, note: PAUSED_WITH_PARENT }),
    resume: (conversationId) => signal(conversationId, 'resume'),
    tellParent: (conversationId, end) => signal(conversationId, 'subAgentEnded', end),
    tellOfPlace: (conversationId, callId) => signal(conversationId, 'subAgentHasPlace', { callId }),
  };
}
