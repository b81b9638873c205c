import type { ConversationInput } from '../../../src/contracts/conversation-run.ts';

/** A conversation with a budget of 3 steps for each turn and of 100 tokens. */
export const input: ConversationInput = {
  conversationId: 'conv_1',
  agentId: 'fixer',
  userId: 'user',
  tenantId: 'tenant',
  limits: { budget: { turns: 1000, steps: 3, tokens: 100 }, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy', approvalTimeoutMs: 0 },
};
