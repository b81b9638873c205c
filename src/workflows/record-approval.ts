import type { ApprovalEventArgs, ApprovalEventResult } from '../contracts/activities.ts';
import { recordApproval } from './activities.ts';
import { answerApproval } from './state/approval-state.ts';
import type { Approval, Resolution } from './state/conversation-data.ts';
import type { RunningConversation } from './running.ts';

const WITHDRAWN = 'The turn was ended before an answer.';

/** Records how an approval ended, then applies it. Returns false when the approval was closed already. */
export async function resolve(running: RunningConversation, approval: Approval, resolution: Resolution, by?: string): Promise<boolean> {
  approval.claimed = true;
  const { answer, reason = answer === 'withdrawn' ? WITHDRAWN : undefined } = resolution;
  await record(running, approval.pending, {
    type: 'resolved',
    answer: answer === 'withdrawn' ? 'deny' : answer,
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  });
  const effective = answerApproval(running.data, approval, resolution, { nowMs: Date.now(), by });
  running.show();
  return effective;
}

/** Records that a person is asked, and shows the link to the approval if the worker has made one. */
export async function recordRequest(running: RunningConversation, approval: Approval): Promise<void> {
  const { why, expiresAtMs } = approval.pending;
  const recorded = await record(running, approval.pending, { type: 'requested', why, expiresAtMs });
  if (!recorded?.link) return;
  approval.link = recorded.link;
  running.show();
}

/** Records an event of an approval. */
function record(
  running: RunningConversation,
  { callId, tool, turnId, hash }: Approval['pending'],
  event: ApprovalEventArgs['event'],
): Promise<ApprovalEventResult | undefined> {
  return running.inOrder(() => recordApproval({ conversationId: running.data.conversationId, turnId, callId, tool, hash, event }));
}
