import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.ts';
import { saidIn, type AssistantPart } from '../../contracts/transcript.ts';
import type { ModelAnswer } from '../../models/model.ts';
import { digestOf, type StepHooks } from './step-hooks.ts';

const MOST_CHARACTERS = 400_000;
/** Stands for an answer that a plugin has stopped. */
const NOT_SENT = '(no answer)';

const answerSchema = z.looseObject({
  text: z.string().max(MOST_CHARACTERS),
  calls: z.array(z.looseObject({ id: z.string(), arguments: z.record(z.string(), z.json()) })).max(1_000),
});
const mediaSchema = z.union([
  z.object({ type: z.literal('image'), mediaType: z.string(), data: z.string() }),
  z.object({ type: z.literal('file'), mediaType: z.string(), name: z.string().min(1).max(200), data: z.string() }),
]);
const messageSchema = z.looseObject({ text: z.string().max(MOST_CHARACTERS), parts: z.array(mediaSchema).max(100).default([]) });

/**
 * Lets plugins change what the model has answered, before anybody has seen it, and then the message that ends the turn. They may change texts and arguments, and
 * leave out calls; calls that the model has not made are not added.
 * @param nameOf the name by which plugins know a tool
 */
export async function changeAnswer(hooks: StepHooks, stepId: string, given: ModelAnswer, nameOf: (tool: string) => string): Promise<ModelAnswer> {
  return beforeSending(hooks, stepId, await afterAnswer(hooks, stepId, given, nameOf));
}

async function beforeSending(hooks: StepHooks, stepId: string, answer: ModelAnswer): Promise<ModelAnswer> {
  const text = saidIn({ role: 'assistant', parts: answer.parts });
  if (!hooks.has('sending') || text.trim() === '' || callsIn(answer.parts).length > 0) return answer;
  const { value, stoppedBy, sent } = await hooks.run('sending', { id: stepId, digest: digestOf({ text }) }, { id: stepId, text, at: new Date().toISOString() });
  await hooks.send(sent);
  if (stoppedBy !== undefined) return { ...answer, parts: withSaid(answer.parts, NOT_SENT) };
  const message = messageSchema.safeParse(value);
  if (!message.success || isDeepStrictEqual([message.data.text, message.data.parts], [text, []])) return answer;
  const { parts: media } = message.data;
  // An answer has a text: what else it was made into is told there.
  const said = message.data.text.trim() === '' ? media.map((part) => `(${part.type === 'file' ? part.name : part.type})`).join(' ') : message.data.text;
  await hooks.send([{ key: `hook_${stepId}_media`, tool: 'the answer', parts: media }]);
  return { ...answer, parts: withSaid(answer.parts, said || NOT_SENT) };
}

async function afterAnswer(hooks: StepHooks, stepId: string, answer: ModelAnswer, nameOf: (tool: string) => string): Promise<ModelAnswer> {
  if (!hooks.has('answered')) return answer;
  const { inputTokens, outputTokens } = answer.usage;
  const before = saidIn({ role: 'assistant', parts: answer.parts });
  const made = callsIn(answer.parts).map((call, index): JsonObject => ({ id: String(index), name: nameOf(call.tool), arguments: call.arguments }));
  const value = { id: stepId, text: before, at: new Date().toISOString(), calls: made, usage: { inputTokens, outputTokens } };
  const { value: changed, sent } = await hooks.run('answered', { id: stepId, digest: digestOf({ text: before, calls: made }) }, value);
  await hooks.send(sent);
  const parsed = answerSchema.safeParse(changed);
  if (!parsed.success) return answer;
  const { text, calls } = parsed.data;
  const argumentsOf = new Map(calls.map((call) => [call.id, call.arguments]));
  let index = 0;
  const parts = answer.parts.flatMap((part): AssistantPart[] => {
    if (part.type !== 'tool-call') return [part];
    const changedArguments = argumentsOf.get(String(index++));
    return changedArguments === undefined ? [] : [{ ...part, arguments: changedArguments }];
  });
  const said = text === before ? parts : withSaid(parts, text);
  return { ...answer, parts: said.length > 0 ? said : [{ type: 'text', text: NOT_SENT }] };
}

/** The parts with another text, which stands where the first one stood, or before the calls. */
export function withSaid(parts: readonly AssistantPart[], text: string): AssistantPart[] {
  const first = parts.findIndex(({ type }) => type === 'text' || type === 'tool-call');
  const place = first === -1 ? parts.length : first;
  const rest = (some: readonly AssistantPart[]) => some.filter(({ type }) => type !== 'text');
  return [...rest(parts.slice(0, place)), ...(text === '' ? [] : [{ type: 'text' as const, text }]), ...rest(parts.slice(place))];
}

function callsIn(parts: readonly AssistantPart[]) {
  return parts.filter((part) => part.type === 'tool-call');
}

/** Tells plugins of the answer that ends a turn, once it is stored. An attempt that finds it stored tells nobody. */
export async function tellOfAnswer(hooks: StepHooks, stepId: string, parts: readonly AssistantPart[]): Promise<void> {
  const text = saidIn({ role: 'assistant', parts: [...parts] });
  if (!hooks.has('sent') || text.trim() === '' || callsIn(parts).length > 0) return;
  await hooks.run('sent', { id: stepId }, { id: stepId, text, at: new Date().toISOString() });
}
