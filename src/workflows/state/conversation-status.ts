import type { ConversationState, ConversationStatus } from '../../contracts/conversation.ts';
import { allowedTools } from './allowed-tools.ts';
import { openApprovals } from './approval-state.ts';
import { spentBy, workedMs } from './budget-state.ts';
import { waitingCalls } from './client-calls.ts';
import type { ConversationData } from './conversation-data.ts';

export function stateOf(data: ConversationData): ConversationState {
  if (data.closed) return 'closed';
  if (data.closing) return 'closing';
  if (data.paused) return 'paused';
  if (data.approvals.some(({ answer }) => answer === undefined)) return 'awaiting-approval';
  return data.turn || data.awaitsFiles ? 'running' : 'idle';
}

/** Since when the conversation waits for a person: for the answer to an approval, or for the end of a pause. */
export function waitingSinceMs(data: ConversationData): number | undefined {
  if (data.closing || data.closed) return undefined;
  const times = openApprovals(data).map(({ pending }) => pending.requestedAtMs);
  if (data.paused && data.pausedAtMs !== undefined) times.push(data.pausedAtMs);
  return times.length === 0 ? undefined : Math.min(...times);
}

function rememberedIn(data: ConversationData): Pick<ConversationStatus, 'allowedTools'> {
  const allowed = allowedTools(data);
  return allowed.length > 0 ? { allowedTools: allowed } : {};
}

function originOf({ scheduledBy, fork, importedFrom }: ConversationData): Pick<ConversationStatus, 'scheduledBy' | 'forkedFrom' | 'importedFrom'> {
  return {
    ...(scheduledBy && { scheduledBy }),
    ...(fork && { forkedFrom: { conversationId: fork.conversationId, transcriptSeq: fork.transcriptSeq } }),
    ...(importedFrom && { importedFrom }),
  };
}

/** The status as clients and operators see it. */
export function statusOf(data: ConversationData, nowMs: number): ConversationStatus {
  const { conversationId, agentId, userId, tenantId, parent, turn, paused, turnsUsed, tokensUsed, sandboxTier } = data;
  const waiting = waitingCalls(data);
  return {
    conversationId,
    agentId,
    userId,
    tenantId,
    state: stateOf(data),
    ...(paused && { paused }),
    ...(data.limits.unattended && { unattended: true }),
    ...originOf(data),
    ...(parent && { parent, spent: spentBy(data, nowMs) }),
    ...(turn && { turnId: turn.turnId }),
    queued: data.queue.length + (turn ? turn.steers.length : data.wake ? 1 : 0),
    turnsUsed,
    stepsUsed: turn?.steps ?? 0,
    tokensUsed,
    workedMs: workedMs(data, nowMs),
    sandboxTier,
    pendingApprovals: data.approvals.filter(({ answer }) => answer === undefined).map(({ pending }) => pending),
    ...rememberedIn(data),
    runningCalls: [...data.runningCalls],
    ...(waiting.length > 0 && { waitingCalls: waiting }),
    ...(turn?.waits && { waitsForPlace: turn.waits }),
  };
}
