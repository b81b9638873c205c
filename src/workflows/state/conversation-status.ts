import type { ConversationState, ConversationStatus } from '../../contracts/conversation.ts';
import { workedMs } from './budget-state.ts';
import type { ConversationData } from './conversation-data.ts';

export function stateOf(data: ConversationData): ConversationState {
  if (data.closed) return 'closed';
  if (data.closing) return 'closing';
  if (data.paused) return 'paused';
  if (data.approvals.some(({ answer }) => answer === undefined)) return 'awaiting-approval';
  return data.turn ? 'running' : 'idle';
}

/** The status as clients and operators see it. */
export function statusOf(data: ConversationData, nowMs: number): ConversationStatus {
  const { conversationId, agentId, userId, tenantId, scheduledBy, turn, paused, turnsUsed, tokensUsed, sandboxTier } = data;
  return {
    conversationId,
    agentId,
    userId,
    tenantId,
    state: stateOf(data),
    ...(paused && { paused }),
    ...(data.limits.unattended && { unattended: true }),
    ...(scheduledBy && { scheduledBy }),
    ...(turn && { turnId: turn.turnId }),
    queued: data.queue.length + (turn ? turn.steers.length : data.wake ? 1 : 0),
    turnsUsed,
    stepsUsed: turn?.steps ?? 0,
    tokensUsed,
    workedMs: workedMs(data, nowMs),
    sandboxTier,
    pendingApprovals: data.approvals.filter(({ answer }) => answer === undefined).map(({ pending }) => pending),
    runningCalls: [...data.runningCalls],
  };
}
