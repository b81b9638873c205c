import type { ServerAsks } from '../../contracts/questions/question.ts';
import { isQuestion } from '../../contracts/questions/question.ts';
import type { ProposedCall } from '../../contracts/activities.ts';
import { isObject } from '../../contracts/json.ts';
import type { ConversationData, OpenQuestion } from './conversation-data.ts';

/** Questions of one call that may wait at a time. */
const MOST_OPEN = 20;

/** Takes a question of the server of a running call, or takes it back. A question of a call that has ended is dropped: nobody waits for its answer. */
export function takeQuestion(data: ConversationData, { callId, question, withdrawn = false }: Partial<ServerAsks<ProposedCall>>): void {
  if (!isProposed(question)) return;
  const open = data.questions ?? [];
  const known = open.find((one) => one.question.callId === question.callId);
  if (known) {
    known.isWithdrawn ||= withdrawn;
    return;
  }
  const runs = data.runningCalls.some((call) => call.callId === callId);
  if (callId === undefined || withdrawn || !runs || open.filter(({ ofCall, hasEnded }) => ofCall === callId && !hasEnded).length >= MOST_OPEN) return;
  data.questions = [...open, { ofCall: callId, question, isTaken: false, isWithdrawn: false, hasEnded: false }];
}

/** Anyone who may signal workflows can send anything. */
function isProposed(given: unknown): given is ProposedCall {
  return isObject(given) && typeof given['callId'] === 'string' && typeof given['tool'] === 'string' && isQuestion(given['tool']);
}

/** The questions of a call that nobody has been asked yet. They count as asked from now on. */
export function newQuestions({ questions = [] }: ConversationData, callId: string): OpenQuestion[] {
  const found = questions.filter(({ ofCall, isTaken }) => ofCall === callId && !isTaken);
  for (const one of found) one.isTaken = true;
  return found;
}

/** It stays known while its call runs: another attempt at the call may ask it again before it finds the answer in the ledger. */
export function closeQuestion(closed: OpenQuestion): void {
  closed.hasEnded = true;
}

/** Forgets the questions of a call that has ended. */
export function dropQuestions(data: ConversationData, callId: string): void {
  if (!data.questions) return;
  data.questions = data.questions.filter(({ ofCall }) => ofCall !== callId);
  if (data.questions.length === 0) delete data.questions;
}
