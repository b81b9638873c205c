import { condition } from '@temporalio/workflow';
import type { ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { askApproval, type Approval } from './approval-state.ts';
import { expire, record, refusalOf, resolve } from './approve-calls.ts';
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
  const refused = refusalOf(data, call);
  if (refused || call.decision !== 'ask' || data.allowedTools.includes(call.tool)) return refused;
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
  return refusalOf(data, call, approval.answer);
}

async function untilClosed(running: RunningConversation, code: Code, approval: Approval): Promise<void> {
  const { pending } = approval;
  const isGone = () => mustEnd(running.data) || code.ended;
  const isDecided = () => approval.answer !== undefined || isGone();
  while (!isDecided()) {
    const left = pending.expiresAtMs - Date.now();
    // After a pause over it, it waits without an end.
    if (pending.expiresAtMs === 0) await condition(isDecided);
    else if (!(await condition(isDecided, Math.max(1, left), { summary: 'approval expires' })) && !approval.claimed) await expire(running, [approval], 'now');
  }
  if (approval.answer === undefined && !approval.claimed) await resolve(running, approval, { answer: 'withdrawn' });
  // An answer that came first may still be on its way to the events.
  await condition(() => approval.answer !== undefined || !approval.claimed);
}
