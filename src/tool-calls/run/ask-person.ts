import { pause } from '../../common/pause.ts';
import { anySignal } from '../../common/any-signal.ts';
import { callOfCode, execOf } from '../../contracts/call-ids.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import { MAX_QUESTION_MS, type Question, type QuestionAnswer } from '../../contracts/questions/question.ts';
import { isPostgresAway } from '../../store/database/database-failures.ts';
import { MOST_QUESTIONS } from '../questions/question-of-call.ts';
import type { ToolRun } from './tool-run.ts';
import { answerIn, isSameQuestion, proposeQuestion, type ProposedQuestion } from '../questions/propose-question.ts';

const FIRST_LOOK_MS = 100;
const LAST_LOOK_MS = 2_000;

export type AskPerson = (question: Question, signal: AbortSignal, after?: number) => Promise<QuestionAnswer>;

/**
 * Asks a person on behalf of the server that runs this call, and waits for the answer, which is stored with the question: a later attempt at the call, which is
 * asked the same again, finds it. `hold` stops the time limit of the call until what it returns is disposed of.
 */
export function createAskPerson(run: ToolRun, hold: () => Disposable, ended: AbortSignal): AskPerson {
  let asked = 0;
  return async (question, signal, after) => {
    if (after !== undefined) asked = after;
    using _held = hold();
    const over = anySignal([signal, ended]);
    const next = () => {
      asked += 1;
      if (asked > MOST_QUESTIONS) throw new Error(`a server may ask ${MOST_QUESTIONS} questions during one call`);
      return asked;
    };
    const { proposed } = await store(run, question, next, over);
    run.progress.line(`a person is asked: ${question.message}`);
    const telling = { callId: run.args.callId, question: proposed };
    await run.questions.tell(run.args.conversationId, telling);
    const answer = await untilAnswered(run, proposed.callId, over);
    if (answer) return answer;
    // This worker leaves the call to another one, which asks the same.
    if (ended.aborted && !isFailure(ended.reason, 'INTERRUPTED')) throw ended.reason;
    await run.questions.tell(run.args.conversationId, { ...telling, withdrawn: true });
    return { action: 'cancel' };
  };
}

/** Stores the question, unless an earlier attempt has. `next` numbers it. While Postgres is away, this waits: the server could not ask again. */
async function store({ args, store: { toolCalls } }: ToolRun, question: Question, next: () => number, over: AbortSignal): Promise<ProposedQuestion> {
  for (let number = next(); ;) {
    const callId = callOfCode(execOf(args.callId, 1), number);
    const told = proposeQuestion(args, { callId, number, timeoutMs: MAX_QUESTION_MS }, question);
    try {
      const known = await toolCalls.get(callId);
      if (known && isSameQuestion(known, question)) return told;
      if (!known && (await toolCalls.proposeMethod(told.proposal, [told.requested], args.storageLimit))) return told;
      if (!known) throw failure('STORAGE_EXHAUSTED', { limit: Math.round((args.storageLimit ?? 0) / 2 ** 20) });
      number = next();
    } catch (error) {
      if (!isPostgresAway(error) || over.aborted) throw error;
      await pause(LAST_LOOK_MS, over);
    }
  }
}

/** Undefined when no call waits for the answer any more. A person may take a day, in which Postgres may be away for a while. */
async function untilAnswered({ store: { toolCalls } }: ToolRun, callId: string, over: AbortSignal): Promise<QuestionAnswer | undefined> {
  for (let waitMs = FIRST_LOOK_MS; !over.aborted; waitMs = Math.min(LAST_LOOK_MS, waitMs * 1.5)) {
    const row = await toolCalls.get(callId).catch((error: unknown) => {
      if (!isPostgresAway(error)) throw error;
      return undefined;
    });
    const answer = row && answerIn(row);
    if (answer) return answer;
    await pause(waitMs, over);
  }
  return undefined;
}
