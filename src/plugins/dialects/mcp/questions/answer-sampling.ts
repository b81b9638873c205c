import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { Sampling } from '../../../../contracts/mcp/server.ts';
import type { QuestionAnswer } from '../../../../contracts/questions/question.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';
import type { ModelQuestion, ModelReply } from '../../../api/server-question.ts';
import { NO_CALL, refusal } from './refusal.ts';
import { askWhether, readSampling } from './read-sampling.ts';

/** As the protocol has it for a person who refuses. */
const REFUSED = -1;

/** What a server gets for its question to the model. (A type alias is assignable to `Json`.) */
type Sampled = { role: 'assistant'; content: { type: 'text'; text: string }; model: string; stopReason?: 'maxTokens' };

/** Asks the model for a server, within the call to which its request belongs. With `ask`, a person allows it first. */
export async function answerSampling(
  server: string,
  policy: Sampling,
  given: unknown,
  call: { askPerson?: ToolContext['askPerson']; model?: ToolContext['model'] } | undefined,
  signal: AbortSignal,
): Promise<Sampled> {
  const question = orInvalid(() => readSampling(given));
  if (!call) throw refusal(ProtocolErrorCode.InvalidRequest, NO_CALL);
  if (!call.model) throw refusal(ProtocolErrorCode.InvalidRequest, 'the model cannot be asked in this call');
  if (policy === 'ask') await allowed(server, question, call.askPerson, signal);
  const reply = await call.model.ask(question).catch((error: unknown) => {
    throw refusal(ProtocolErrorCode.InternalError, (error as Error).message);
  });
  return sampled(reply, call.model.name);
}

export function sampled({ text, cutOff }: Pick<ModelReply, 'text' | 'cutOff'>, model: string): Sampled {
  return { role: 'assistant', content: { type: 'text', text }, model, ...(cutOff === 'length' && { stopReason: 'maxTokens' }) };
}

export function whyNotAllowed(action: Exclude<QuestionAnswer['action'], 'accept'>): string {
  return action === 'decline' ? 'a person has refused to let the model be asked' : 'no person has allowed it';
}

async function allowed(server: string, question: ModelQuestion, askPerson: ToolContext['askPerson'], signal: AbortSignal): Promise<void> {
  const asked = orInvalid(() => askWhether(server, question));
  const { action } = (await askPerson?.(asked, signal)) ?? { action: 'cancel' };
  if (action !== 'accept') throw refusal(REFUSED, whyNotAllowed(action));
}

function orInvalid<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw refusal(ProtocolErrorCode.InvalidParams, (error as Error).message);
  }
}
