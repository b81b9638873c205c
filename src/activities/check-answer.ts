import type { AnswerCheck, CallModelArgs } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { parseAnswer } from '../contracts/output.ts';
import { saidIn, type TranscriptEntry } from '../contracts/transcript.ts';
import { createSchemaCompiler } from '../plugins/schemas/validate-arguments.ts';
import type { Store } from '../store/store.ts';
import { redact } from '../tool-calls/results/redact.ts';

export interface AnswerParts {
  store: Pick<Store, 'transcript' | 'events' | 'messages'>;
}

const compile = createSchemaCompiler();

/** The JSON Schema that the answer of a turn has to fit: that of a message, or else of the agent. */
export async function outputFor({ store }: AnswerParts, { conversationId, outputOf }: CallModelArgs, agent: Agent): Promise<JsonObject | undefined> {
  const own = outputOf === undefined ? undefined : await store.messages.outputOf(conversationId, outputOf);
  return own ?? agent.output;
}

/** What the model is told of the schema. */
export function formOf(output: JsonObject): string {
  return `When you have done all that is asked of you, answer with one JSON value that fits this JSON Schema, and with nothing else:\n${JSON.stringify(output)}`;
}

/**
 * Checks the answer of a step against the schema that it has to fit. An answer that does not fit is noted for readers and, unless it is the second one, for the
 * model. A repeated attempt notes the same once.
 */
export async function checkAnswer(
  parts: AnswerParts,
  args: CallModelArgs,
  output: JsonObject,
  answer: TranscriptEntry & { role: 'assistant' },
): Promise<AnswerCheck> {
  if (answer.parts.some(({ type }) => type === 'tool-call')) return { outcome: 'pending' };
  const found = await problemsOf(args, output, saidIn(answer));
  if (found.length === 0) return { outcome: 'fits' };
  const problems = operatorText(found.join('; '), undefined, redact);
  const { conversationId, turnId, stepId } = args;
  if (!args.repairs) await parts.store.transcript.append(conversationId, turnId, stepId, `repair-${stepId}`, { role: 'note', text: requestFor(problems) });
  await parts.store.events.append(conversationId, [{ type: 'answer.refused', turnId, stepId, data: { problems }, key: `answer.refused/${stepId}` }]);
  return { outcome: 'refused', message: operatorText(failure('ANSWER_INVALID', { problems }).message, undefined, redact) };
}

async function problemsOf({ tenantId }: CallModelArgs, output: JsonObject, text: string): Promise<string[]> {
  const parsed = parseAnswer(text);
  if ('problem' in parsed) return [parsed.problem];
  const unusable = (problem: string, cause?: Error) => failure('OUTPUT_INVALID', { problem, fix: 'Correct the schema' }, cause);
  return compile(`answers of ${tenantId}`, output, unusable)(parsed.value);
}

function requestFor(problems: string): string {
  return `The answer does not fit the JSON Schema: ${problems}. Answer again, with one JSON value that fits and nothing else.`;
}
