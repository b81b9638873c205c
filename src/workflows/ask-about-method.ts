import { condition } from '@temporalio/workflow';
import type { ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { askApproval, type Approval } from './approval-state.ts';
import { record, refusalOf, resolve } from './approve-calls.ts';
import { mustEnd } from './conversation-state.ts';
import type { RunningConversation } from './running.ts';
import type { StepPlace } from './settle.ts';

/** The code that made calls; what it asked for and nobody has answered is withdrawn when it has ended. */
export interface Code {
  ended: boolean;
}

/** Asks a person about a call of code where that is needed. Undefined when it may run, else what it is told. Edits are taken over. */
export async function askAboutMethod(
  running: RunningConversation,
  { turnId }: StepPlace,
  code: Code,
  call: ProposedCall,
): Promise<Pick<SettleCallArgs, 'settlement' | 'message'> | undefined> {
  const { data } = running;
  if (call.decision !== 'ask' || data.allowedTools.includes(call.tool)) return undefined;
  const pending = askApproval(data, turnId, call, Date.now());
  const approval = data.approvals.find((one) => one.pending === pending);
  if (!approval) return undefined;
  // The status first: whoever reads the event finds the approval that it speaks of.
  await running.save();
  await record(running, pending, { type: 'requested', why: pending.why, expiresAtMs: pending.expiresAtMs });
  await untilClosed(running, code, approval);
  data.approvals = data.approvals.filter((one) => one !== approval);
  await running.save();
  call.hash = pending.hash;
  if (approval.answer?.answer === 'withdrawn')
    return { settlement: 'interrupted', message: 'Nobody had answered when the code that asked was ended; it was not run.' };
  return refusalOf(approval.answer);
}

async function untilClosed(running: RunningConversation, code: Code, approval: Approval): Promise<void> {
  const { expiresAtMs } = approval.pending;
  const isGone = () => mustEnd(running.data) || code.ended;
  const isDecided = () => approval.answer !== undefined || isGone();
  const inTime = expiresAtMs === 0 ? condition(isDecided) : condition(isDecided, Math.max(1, expiresAtMs - Date.now()), { summary: 'approval expires' });
  await inTime;
  if (approval.answer === undefined && !approval.claimed) await resolve(running, approval, { answer: isGone() ? 'withdrawn' : 'expired' });
  // An answer that came first may still be on its way to the events.
  await condition(() => approval.answer !== undefined || !approval.claimed);
}
