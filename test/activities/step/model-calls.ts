import type { CallModelArgs } from '../../../src/contracts/activities.ts';
import type { ConversationStatus } from '../../../src/contracts/conversation.ts';
import type { AssistantPart } from '../../../src/contracts/transcript.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import type { Store } from '../../../src/store/store.ts';

/** A conversation of its own with one user message, and the first call of the model for it. @param number no other one of the store */
export async function beginTurn(store: Store, agentId: string, number: number): Promise<CallModelArgs> {
  const conversationId = `conv_${number}`;
  const counts = { queued: 0, turnsUsed: 0, stepsUsed: 0, tokensUsed: 0, workedMs: 0 };
  const owner = { conversationId, agentId, userId: 'u', tenantId: 't', state: 'running' as const };
  const status: ConversationStatus = { ...owner, ...counts, sandboxTier: 'none', pendingApprovals: [], runningCalls: [] };
  await store.conversations.create({ ...owner, status });
  await store.transcript.append(conversationId, 'turn_1', undefined, 'msg_1', { role: 'user', content: [{ type: 'text', text: 'Hello' }] });
  return { conversationId, agentId, turnId: 'turn_1', stepId: `step_${number}a`, step: 0, userId: 'u', tenantId: 't' };
}

/** A model that says these parts, and keeps what it was asked. */
export function speaking(...parts: AssistantPart[]): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    asked,
    async answer(request, onDelta) {
      asked.push(request);
      for (const part of parts) if (part.type === 'text') onDelta({ type: 'text', text: part.text });
      return { parts, usage: { inputTokens: 3, outputTokens: 4 } };
    },
  };
}
