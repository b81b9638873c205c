import { condition, patched } from '@temporalio/workflow';
import type { ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { isQuestion } from '../contracts/questions/question.ts';
import type { PauseWish } from '../contracts/conversation-run.ts';
import { askAgain } from './state/allowed-tools.ts';
import { askApproval, dueApprovals, nextExpiry, openApprovals, pauseForApprovals } from './state/approval-state.ts';
import type { Approval, ConversationData, Resolution } from './state/conversation-data.ts';
import { startWork, stopWork } from './state/budget-state.ts';
import { mustEnd } from './state/conversation-state.ts';
import { hasPlace } from './state/place-state.ts';
import { startJudging } from './judge-approval.ts';
import { recordRequest, resolve } from './record-approval.ts';
import { beginPause } from './pause.ts';
import { rest } from './rest.ts';
import type { RunningConversation } from './running.ts';
import { settle, type StepPlace } from './settle.ts';
import { giveBackPlace } from './turn-place.ts';

/** Patch id. Before it, a turn that was ended did not wait for an answer that was being recorded. */
const ENDS_AFTER_ANSWERS = 'ends-after-answers';
const UNATTENDED = 'Denied: this conversation is unattended, so only calls that read and need no approval may run.';
const EXPIRED = 'No answer in time.';
const LET_RUN = 'No answer in time; the agent allows such calls then.';

/**
 * Decides which of a step's calls may run. Asks about all calls that need a person at once, and waits for the answers.
 * Refused, denied and expired calls get their results here. When the turn has to end, the calls not yet decided are returned for settling.
 */
export async function approveCalls(running: RunningConversation, place: StepPlace, calls: ProposedCall[]): Promise<ProposedCall[]> {
  const { data } = running;
  askAgain(data, calls);
  const asked = calls.filter((call) => call.decision === 'ask' && !data.allowedTools.includes(call.tool) && (mayRun(data, call) || call.auto));
  if (asked.length > 0) await askAll(running, place, asked);
  const approved: ProposedCall[] = [];
  for (const call of calls) {
    if (call.decision === 'invalid') continue;
    const refused = refusedSettlementOf(data, call, data.approvals.find(({ pending }) => pending.callId === call.callId)?.answer);
    if (refused) await settle(running, place, call, refused.settlement, refused.message);
    else approved.push(call);
  }
  data.approvals = [];
  return approved;
}

/** The result of a call that must not run; undefined for a call that may run. */
export function refusedSettlementOf(
  data: ConversationData,
  call: ProposedCall,
  answer?: Resolution,
): Pick<SettleCallArgs, 'settlement' | 'message'> | undefined {
  if (call.decision === 'deny') return { settlement: 'denied', message: `Denied by policy: ${call.why}` };
  const isAllowed = call.auto === true && answer !== undefined;
  if (!mayRun(data, call) && !isAllowed) return { settlement: 'denied', message: UNATTENDED };
  if (answer?.answer === 'deny')
    return {
      settlement: 'denied',
      message: `Denied by ${answer.byPolicy ? 'policy' : 'an operator'}${answer.reason === undefined ? '.' : `: ${answer.reason}`}`,
    };
  return answer?.answer === 'expired' ? { settlement: 'expired', message: 'This call was not approved in time; it was not run.' } : undefined;
}

/** In an unattended conversation, only calls that read and need no approval run, whether the model or code makes them. */
function mayRun({ limits }: ConversationData, { decision, readOnly }: ProposedCall): boolean {
  return !limits.unattended || (decision === 'allow' && readOnly);
}

async function askAll(running: RunningConversation, place: StepPlace, asked: ProposedCall[]): Promise<void> {
  const { data } = running;
  if (mustEnd(data)) return;
  for (const call of asked) askApproval(data, place.turnId, call, Date.now());
  stopWork(data, Date.now());
  running.show();
  // The status is saved first: a client that reads the event finds the approval in the status.
  await running.save();
  // Of what a judge hands over, it is recorded then that a person is asked.
  const isJudged = ({ pending }: Approval) => asked.some(({ callId, auto }) => callId === pending.callId && auto);
  const judging = data.approvals.filter(isJudged).map((approval) => startJudging(running, place, approval));
  await Promise.all(data.approvals.filter((approval) => !isJudged(approval)).map((approval) => recordRequest(running, approval)));
  // A person may take days. A judge takes seconds, and says itself when it hands over.
  if (hasPlace(data) && asked.some(({ auto }) => !auto)) await giveBackPlace(running);
  await untilAnswered(running);
  await Promise.all(judging.map((judge) => judge.end()));
  for (const call of asked) takeOverEdits(data.approvals, call);
  if (!data.paused) startWork(data, Date.now());
  await running.save();
}

async function untilAnswered(running: RunningConversation): Promise<void> {
  const { data } = running;
  const answered = () => openApprovals(data).length === 0;
  while (!answered() && !mustEnd(data)) {
    const pauses = () => data.pauseWish !== undefined && data.paused === undefined;
    if (pauses()) await beginPause(running);
    const expiry = nextExpiry(data);
    const changed = () => answered() || mustEnd(data) || pauses() || nextExpiry(data) !== expiry;
    await rest(running, changed, expiry === undefined ? undefined : { atMs: expiry, summary: 'approval expires' });
    await expire(running, dueApprovals(data, Date.now()));
  }
  await withdraw(running);
  const isRecorded = () => openApprovals(data).every(({ claimed }) => !claimed);
  if (isRecorded() || !patched(ENDS_AFTER_ANSWERS)) return;
  // Who gives an answer learns whether it counts. One that is refused leaves the approval open.
  await condition(isRecorded);
  await withdraw(running);
}

async function withdraw(running: RunningConversation): Promise<void> {
  const left = openApprovals(running.data).filter(({ claimed }) => !claimed);
  await Promise.all(left.map((approval) => resolve(running, approval, { answer: 'withdrawn' })));
}

/** Applies the agent's `approvalExpiry` to approvals that were not answered in time. */
export async function expire(running: RunningConversation, due: Approval[], pauseMode: PauseWish['mode'] = 'step'): Promise<void> {
  const { data } = running;
  // Without an answer there is nothing that a question could be allowed with.
  const questions = due.filter(({ pending }) => isQuestion(pending.tool));
  await Promise.all(questions.map((approval) => resolve(running, approval, { answer: 'expired', reason: EXPIRED }, 'policy')));
  const calls = due.filter(({ pending }) => !isQuestion(pending.tool));
  switch (data.limits.approvalExpiry ?? 'deny') {
    case 'deny':
      await Promise.all(calls.map((approval) => resolve(running, approval, { answer: 'expired', reason: EXPIRED }, 'policy')));
      return;
    case 'allow':
      await Promise.all(calls.map((approval) => resolve(running, approval, { answer: 'allow-once', reason: LET_RUN }, 'policy')));
      return;
    case 'pause':
      pauseForApprovals(data, calls, pauseMode);
  }
}

/** The call runs with the arguments that an operator edited. */
function takeOverEdits(approvals: Approval[], call: ProposedCall): void {
  const pending = approvals.find((approval) => approval.pending.callId === call.callId)?.pending;
  if (pending) call.hash = pending.hash;
}
