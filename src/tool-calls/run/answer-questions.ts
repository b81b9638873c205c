import { isFailure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { SandboxedQuestion, SandboxedRun, ToolSandbox } from '../../plugins/api/tool-context.ts';
import type { MethodAnswer, MethodCall } from '../../sandbox/api/methods.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import { MAX_VALUE_BYTES, refusedAnswer } from '../results/method-answer.ts';
import { redact } from '../results/redact.ts';

type Asked = Omit<SandboxedQuestion, keyof Commands | 'send' | 'note'>;
type Commands = Pick<ToolSandbox, 'exec' | 'runCode' | 'start'>;

/** As a tool's run, but its messages to the conversation are not numbered yet. */
export interface NumberedRun extends Omit<SandboxedRun, 'ask'> {
  ask: (question: Omit<SandboxedQuestion, 'send' | 'note'>) => Promise<Json>;
}

/** As the options of a request to a server, but without what its answers are made of. */
export interface NumberedRequest extends Omit<NonNullable<Parameters<ToolSandbox['callServer']>[2]>, 'ask'> {
  ask?: NumberedRun['ask'];
}

/** `More`: what each question has besides. */
export interface Questions<More = Commands> {
  ask: (question: Asked & More) => Promise<Json>;
  /** Commands that are named after a question: when the question is repeated, it attaches to the commands that it started. */
  commandsOf: (number: number) => More;
  /** True when the attempt has ended and can no longer answer; the next attempt gets the question. */
  isOver: () => boolean;
}

/** The only name that a tool in the sandbox calls; it stands in place of a tool's name. */
const QUESTION = 'longshore:context';

/** Answers the questions of a tool in the sandbox to its worker. A question that is repeated while its answer is being made is not processed twice. */
export function answerQuestions<More = Commands>(
  handle: Pick<WorkerHandle, 'answerMethod'>,
  { ask, commandsOf, isOver }: Questions<More>,
): (call: MethodCall) => void {
  const answers = new Map<number, Promise<MethodAnswer>>();
  const deliver = async ({ execId, number }: MethodCall, answer: Promise<MethodAnswer>): Promise<void> => {
    const given = await answer;
    if (isOver()) return;
    await handle.answerMethod(execId, number, given);
    answers.delete(number);
  };
  return (call) => {
    const { number } = call;
    const answer = answers.get(number) ?? answerOf(call, (question) => ask({ ...question, ...commandsOf(number) }));
    answers.set(number, answer);
    // The code that follows the exec handles an exec that cannot be reached.
    void deliver(call, answer).catch(() => undefined);
  };
}

async function answerOf({ tool, number, repeated, arguments: { what, args } }: MethodCall, ask: (question: Asked) => Promise<Json>): Promise<MethodAnswer> {
  if (tool !== QUESTION) return refusedAnswer('NOT_ALLOWED', 'The code of a plugin cannot call tools of the conversation; it uses its context.');
  if (typeof what !== 'string' || !Array.isArray(args)) return refusedAnswer('MALFORMED', 'A question is an object of what and args.');
  try {
    const value = await ask({ what, args, number, repeated });
    const size = Buffer.byteLength(JSON.stringify(value));
    if (size <= MAX_VALUE_BYTES) return { ok: value };
    return refusedAnswer('TOO_LARGE', `The answer to ${what} has ${size} bytes as JSON; code in the sandbox is given ${MAX_VALUE_BYTES} at most.`);
  } catch (error) {
    return refusedAnswer(isFailure(error) ? error.code : 'TOOL_FAILED', redact((error as Partial<Error> | undefined)?.message ?? String(error)));
  }
}
