import type { ExecuteToolArgs, ProposedCall } from '../../contracts/activities.ts';
import type { Asking } from '../../contracts/mcp/server.ts';
import { SAMPLING, type QuestionAnswer } from '../../contracts/questions/question.ts';
import type { HostOfQuestion } from '../../plugins/api/server-question.ts';
import { sampled, whyNotAllowed } from '../../plugins/dialects/mcp/questions/answer-sampling.ts';
import { readSampling } from '../../plugins/dialects/mcp/questions/read-sampling.ts';
import type { MethodAnswer, MethodCall } from '../../sandbox/api/methods.ts';
import { placeOf, type WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { Store } from '../../store/store.ts';
import type { NewMethodCall } from '../../store/tool-call-rows.ts';
import { noRoom, refusedAnswer } from '../results/method-answer.ts';
import { redact } from '../results/redact.ts';
import { proposeQuestion } from './propose-question.ts';
import { MOST_QUESTIONS, questionOfCall } from './question-of-call.ts';

/** A call of code, or a question of a server, that this worker has to answer. */
export interface OpenCall {
  handle: WorkerHandle;
  call: MethodCall;
  callId: string;
}

interface Parts {
  args: ExecuteToolArgs;
  store: Pick<Store, 'toolCalls'>;
  /** The call during which the server asks can wait for the workflow, and so for a person. */
  mayWait: boolean;
}

/** What follows a new question of a server in the sandbox: the workflow asks a person, or the question has its end. */
export async function takeQuestion(
  { call, callId, handle }: OpenCall,
  asking: Asking,
  { args, store, mayWait }: Parts,
): Promise<{ proposed: ProposedCall } | { refused: MethodAnswer } | { given: QuestionAnswer }> {
  const asked = questionOfCall(asking, call);
  if ('refused' in asked) return asked;
  if (!asked.question) return { given: { action: 'accept' } };
  if (!mayWait) return { given: { action: 'cancel' } };
  // The time in which a person is asked does not count for the call.
  if ((await handle.holdMethod(call.execId, call.number)) > MOST_QUESTIONS) {
    return { refused: refusedAnswer('TOO_MANY', `a server may ask ${MOST_QUESTIONS} questions during one call`) };
  }
  const { proposed, proposal, requested } = proposeQuestion(args, { callId, number: call.number, timeoutMs: 0 }, asked.question);
  const hasRoom = await store.toolCalls.proposeMethod({ ...proposal, ...comesFrom(handle) }, [requested], args.storageLimit);
  return hasRoom ? { proposed } : { refused: noRoom(args) };
}

/** What the server is told, once no person has to be asked any more. For a question to the model, that is the answer of the model. */
export async function answerToServer({ tool, arguments: asked }: MethodCall, { action, content }: QuestionAnswer, host: HostOfQuestion): Promise<MethodAnswer> {
  if (tool !== SAMPLING) return { ok: { action, ...(content && { content }) } };
  if (action !== 'accept') return refusedAnswer('REFUSED', whyNotAllowed(action));
  try {
    const reply = await host.askModel(readSampling(asked));
    return { ok: { ...sampled(reply, host.modelName) } };
  } catch (error) {
    return refusedAnswer('TOOL_FAILED', redact((error as Error).message));
  }
}

export function comesFrom(handle: WorkerHandle): Pick<NewMethodCall, 'from'> {
  const from = placeOf(handle);
  return from ? { from } : {};
}
