import type { ServerAsksArgs } from '../../contracts/questions/question.ts';
import { isQuestion } from '../../contracts/questions/question.ts';
import { isObject } from '../../contracts/json.ts';
import type { ConversationData, OpenQuestion } from './conversation-data.ts';

/** Questions of one call that may wait at a time. */
const MOST_OPEN = 20;

/** Takes a question of the server of a running call, or takes it back. A question of a call that has ended is dropped: nobody waits for its answer. */
export function takeQuestion(data: ConversationData, { callId, question, withdrawn = false }: Partial<ServerAsksArgs>): void {
  // Anyone who may signal workflows can send anything.
  if (!isObject(question) || typeof question.callId !== 'string' || typeof question.tool !== 'string' || !isQuestion(question.tool)) return;
  const open = data.questions ?? [];
  const known = open.find((one) => one.question.callId === question.callId);
  if (known) {
    known.isWithdrawn ||= withdrawn;
    return;
  }
  if (callId === undefined || withdrawn || !data.runningCalls.some((call) => call.callId === callId)) return;
  if (open.filter(({ ofCall }) => ofCall === callId).length >= MOST_OPEN) return;
  data.questions = [...open, { ofCall: callId, question, isTaken: false, isWithdrawn: false }];
}

/** The questions of a call that nobody has been asked yet. They count as asked from now on. */
export function newQuestions({ questions = [] }: ConversationData, callId: string): OpenQuestion[] {
  const found = questions.filter(({ ofCall, isTaken }) => ofCall === callId && !isTaken);
  for (const one of found) one.isTaken = true;
  return found;
}

export function closeQuestion(data: ConversationData, closed: OpenQuestion): void {
  data.questions = data.questions?.filter((one) => one !== closed) ?? [];
  if (data.questions.length === 0) delete data.questions;
}
