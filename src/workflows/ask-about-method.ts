import { condition, patched } from '@temporalio/workflow';
import type { ProposedCall, SettleCallArgs } from '../contracts/activities.ts';
import { askApproval } from './state/approval-state.ts';
import { isQuestion } from '../contracts/questions/question.ts';
import type { Approval, ConversationData, OpenQuestion, Resolution } from './state/conversation-data.ts';
import { startWork, stopWork } from './state/budget-state.ts';
import { hasPlace, isAway } from './state/place-state.ts';
import { closeQuestion } from './state/questions.ts';
import { startJudging } from './judge-approval.ts';
import { expire, refusedSettlementOf } from './approve-calls.ts';
import { recordRequest, resolve } from './record-approval.ts';
import { mustEnd } from './state/conversation-state.ts';
import type { RunningConversation } from './running.ts';
import { settle, type StepPlace } from './settle.ts';
import { giveBackPlace, regainPlace } from './turn-place.ts';

/** The code that made calls. When it has ended, its approvals that still wait for an answer are withdrawn. */
export interface Code {
  ended: boolean;
}

/** Patch id. Before it, an approval whose time was over while an answer was being recorded set one timer after the other. */
const WAITS_FOR_RECORD = 'waits-for-record';

type QuestionEnd = Pick<SettleCallArgs, 'settlement' | 'message'>;

export const ANSWERED: QuestionEnd = { settlement: 'answered', message: 'A person has answered.' };

/**
 * Asks a person about a call of code, or a question of a server, when that is needed. Returns undefined when the call may run, else its result. Takes over
 * edited arguments.
 */
export async function askAboutMethod(
  running: RunningConversation,
  place: StepPlace,
  code: Code,
  call: ProposedCall,
): Promise<Pick<SettleCallArgs, 'settlement' | 'message'> | undefined> {
  const { data } = running;
  const refused = refusedUnasked(data, call);
  if (refused || call.decision !== 'ask' || data.allowedTools.includes(call.tool)) return refused;
  const pending = askApproval(data, place.turnId, call, Date.now());
  const approval = data.approvals.find((one) => one.pending === pending);
  if (!approval) return undefined;
  // The status is saved first: a client that reads the event finds the approval in the status.
  await running.save();
  const judging = call.auto ? startJudging(running, place, approval) : undefined;
  if (!judging) await recordRequest(running, approval);
  await untilClosed(running, code, approval);
  await judging?.end();
  data.approvals = data.approvals.filter((one) => one !== approval);
  await running.save();
  call.hash = pending.hash;
  if (isQuestion(call.tool)) return endOfQuestion(approval.answer);
  if (approval.answer?.answer === 'withdrawn')
    return { settlement: 'interrupted', message: 'The code that made this call ended before an answer about its approval; the call was not run.' };
  return refusedSettlementOf(data, call, approval.answer);
}

/** Asks a person what the server of a running call asks, and stores how that ended. Withdrawn when the call ends before, or its server wants it no longer. */
export async function askForServer(running: RunningConversation, place: StepPlace, call: Code, asked: OpenQuestion): Promise<void> {
  const { data } = running;
  const { question } = asked;
  const code: Code = {
    get ended() {
      return call.ended || asked.isWithdrawn;
    },
  };
  // A person who thinks does not use up the time of the conversation, unless other calls work meanwhile.
  const isAlone = data.runningCalls.length === 1;
  if (isAlone) stopWork(data, Date.now());
  const gaveBack = isAlone && hasPlace(data) && !data.limits.unattended;
  if (gaveBack) await giveBackPlace(running);
  const { settlement, message } = (await askAboutMethod(running, place, code, question)) ?? ANSWERED;
  if (isAlone && !data.paused) startWork(data, Date.now());
  // Its call works again as soon as it has the answer.
  if (gaveBack && isAway(data)) await regainPlace(running, 'call', () => code.ended);
  await settle(running, place, question, settlement, message);
  closeQuestion(asked);
}

/** The result of a call that must not run, or of a question for which there is no person, without asking anyone. */
function refusedUnasked(data: ConversationData, call: ProposedCall): QuestionEnd | undefined {
  if (call.auto) return undefined;
  if (!isQuestion(call.tool)) return refusedSettlementOf(data, call);
  return data.limits.unattended ? { settlement: 'interrupted', message: 'No person can be asked: this conversation is unattended.' } : undefined;
}

function endOfQuestion(answer: Resolution | undefined): QuestionEnd {
  switch (answer?.answer) {
    case 'allow':
    case 'allow-once':
      return ANSWERED;
    case 'deny':
      return { settlement: 'denied', message: `A person has declined to answer${answer.reason === undefined ? '.' : `: ${answer.reason}`}` };
    case 'expired':
      return { settlement: 'interrupted', message: 'Nobody has answered in time.' };
    default:
      return { settlement: 'interrupted', message: 'The question was withdrawn before an answer.' };
  }
}

async function untilClosed(running: RunningConversation, code: Code, approval: Approval): Promise<void> {
  const { pending } = approval;
  const isGone = () => mustEnd(running.data) || code.ended;
  const isDecided = () => approval.answer !== undefined || isGone();
  // An answer that is refused leaves it open.
  const isRecorded = () => approval.answer !== undefined || !approval.claimed;
  while (!isDecided()) {
    const left = pending.expiresAtMs - Date.now();
    // After the conversation was paused for this approval, it waits without limit.
    if (pending.expiresAtMs === 0) await condition(isDecided);
    else if (await condition(isDecided, Math.max(1, left), { summary: 'approval expires' })) break;
    else if (!approval.claimed) await expire(running, [approval], 'now');
    else if (patched(WAITS_FOR_RECORD)) await condition(isRecorded);
  }
  if (approval.answer === undefined && !approval.claimed) await resolve(running, approval, { answer: 'withdrawn' });
  // An earlier answer may still be in the process of being recorded.
  await condition(isRecorded);
  if (approval.answer === undefined && patched(WAITS_FOR_RECORD)) await resolve(running, approval, { answer: 'withdrawn' });
}
