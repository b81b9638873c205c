import { fitsInline, inlineLength } from '../../common/calls/inline-arguments.ts';
import type { PendingApproval, ResolveApprovalArgs } from '../../contracts/conversation.ts';
import type { ProposedCall } from '../../contracts/activities.ts';
import { isQuestion } from '../../contracts/questions/question.ts';
import type { PauseWish } from '../../contracts/conversation-run.ts';
import { allowTool } from './allowed-tools.ts';
import type { Approval, ConversationData, Resolution } from './conversation-data.ts';

export type ApprovalVerdict = { outcome: 'accept'; approval: Approval } | { outcome: 'missing' } | { outcome: 'mismatch'; expected: string };

/** Asks a person about a call; with an `approvalTimeoutMs` of 0, it waits without limit. */
export function askApproval(data: ConversationData, turnId: string, call: ProposedCall, nowMs: number): PendingApproval {
  const { callId, tool, hash, why } = call;
  const timeoutMs = patienceOf(data, call);
  const pending: PendingApproval = {
    callId,
    tool,
    turnId,
    hash,
    // All of them are in each status that is saved.
    ...(call.arguments && fitsInline(call, inlineLength(openApprovals(data).map((open) => open.pending))) && { arguments: call.arguments }),
    why,
    requestedAtMs: nowMs,
    expiresAtMs: timeoutMs > 0 ? nowMs + timeoutMs : 0,
  };
  data.approvals.push({ pending, claimed: false });
  return pending;
}

/** How long an answer is waited for; 0 for no limit. A worker follows a server's call until its question is answered, which has a limit of its own. */
function patienceOf({ limits: { approvalTimeoutMs } }: ConversationData, { tool, timeoutMs }: ProposedCall): number {
  if (!isQuestion(tool) || timeoutMs === 0) return approvalTimeoutMs;
  return approvalTimeoutMs > 0 ? Math.min(approvalTimeoutMs, timeoutMs) : timeoutMs;
}

/** Decides whether an answer matches a pending approval. */
export function judgeAnswer(data: ConversationData, { callId, hash }: ResolveApprovalArgs): ApprovalVerdict {
  const approval = data.approvals.find(({ pending }) => pending.callId === callId);
  if (approval === undefined || approval.claimed || approval.answer !== undefined || data.closing) return { outcome: 'missing' };
  if (approval.pending.hash !== hash) return { outcome: 'mismatch', expected: approval.pending.hash };
  return { outcome: 'accept', approval };
}

/** The other approvals that an `allow` of this tool answers too, since it holds for the rest of the conversation. */
export function sameTool(data: ConversationData, approval: Approval): Approval[] {
  return data.approvals.filter((other) => other !== approval && other.pending.tool === approval.pending.tool && !other.claimed && other.answer === undefined);
}

/** Closes an approval; `allow` is stored for the tool, with who has said so and when. Returns false when the approval was closed already. */
export function answerApproval(data: ConversationData, approval: Approval, resolution: Resolution, from: { nowMs: number; by?: string | undefined }): boolean {
  if (approval.answer !== undefined || !data.approvals.includes(approval)) return false;
  approval.answer = resolution;
  const { tool, callId } = approval.pending;
  const { nowMs, by } = from;
  if (resolution.answer === 'allow') allowTool(data, { tool, callId, ...(by !== undefined && { by }), at: new Date(nowMs).toISOString() });
  return true;
}

/** Approvals whose time is over and for which no answer is being recorded. */
export function dueApprovals(data: ConversationData, nowMs: number): Approval[] {
  return openApprovals(data).filter(({ claimed, pending }) => !claimed && pending.expiresAtMs > 0 && pending.expiresAtMs <= nowMs);
}

/** Pauses the conversation, unless it is paused, because approvals were not answered in time. From then on, they wait without limit. */
export function pauseForApprovals(data: ConversationData, due: Approval[], mode: PauseWish['mode'] = 'step'): void {
  for (const { pending } of due) {
    pending.expiresAtMs = 0;
    if (!data.paused) data.pauseWish ??= { reason: { by: 'approval', callId: pending.callId, tool: pending.tool }, mode };
  }
}

/** When the next approval expires; undefined when none does. */
export function nextExpiry(data: ConversationData): number | undefined {
  const times = openApprovals(data).flatMap(({ claimed, pending }) => (claimed || pending.expiresAtMs === 0 ? [] : [pending.expiresAtMs]));
  return times.length === 0 ? undefined : Math.min(...times);
}

export function openApprovals(data: ConversationData): Approval[] {
  return data.approvals.filter(({ answer }) => answer === undefined);
}
