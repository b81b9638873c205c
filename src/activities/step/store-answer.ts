import type { CallModelArgs } from '../../contracts/activities.ts';
import { callOfStep } from '../../contracts/call-ids.ts';
import type { Answer, AssistantPart, StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import type { Usage } from '../../contracts/usage.ts';
import type { ModelAnswer } from '../../models/model.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { NewEvent, Store } from '../../store/store.ts';
import { MAX_VALUE_BYTES } from '../../tool-calls/results/method-answer.ts';

export type AssistantEntry = TranscriptEntry & { role: 'assistant' };
export type CallPart = AssistantPart & { type: 'tool-call' };

export interface StoredAnswer {
  entry: AssistantEntry;
  /** The end of the step was logged with the answer. */
  isFinished: boolean;
}

export interface AnswerParts {
  store: Pick<Store, 'transcript' | 'events'>;
  registry: Registry;
}

/**
 * Stores the answer of a step, which is final then. One that calls nothing ends the step in the same statement.
 * @param by.model what is counted as having answered
 * @param by.told the end of the answer as events
 */
export async function storeAnswer(
  { store, registry }: AnswerParts,
  args: CallModelArgs,
  { parts, usage }: ModelAnswer,
  { model, told }: { model: string; told: NewEvent[] },
): Promise<StoredAnswer> {
  const entry: Answer = { role: 'assistant', parts: nameCalls(parts, args.stepId, registry), usage };
  const isFinished = entry.parts.every(({ type }) => type !== 'tool-call');
  if (await store.transcript.addAnswer(args, entry, model, isFinished ? [...told, stepFinished(args, usage)] : told)) return { entry, isFinished };
  // Another attempt, which was thought dead, stored its answer first: that answer counts.
  return { entry: findAnswer(await store.transcript.current(args.conversationId), args.stepId) ?? entry, isFinished: false };
}

export function stepFinished({ turnId, stepId }: Pick<CallModelArgs, 'turnId' | 'stepId'>, usage: Usage): NewEvent {
  return { type: 'step.finished', turnId, stepId, data: { usage: { ...usage } }, key: `step.finished/${stepId}` };
}

export function findAnswer(transcript: StoredEntry[], stepId: string): AssistantEntry | undefined {
  const found = transcript.find((stored) => stored.stepId === stepId && stored.entry.role === 'assistant');
  return found?.entry.role === 'assistant' ? found.entry : undefined;
}

/** Gives each tool call its id, made of the step's id and its number, and its tool's full id, even when the tool was not shown. */
function nameCalls(parts: AssistantPart[], stepId: string, registry: Registry): AssistantPart[] {
  let position = 0;
  const named = (part: CallPart): CallPart => ({
    ...bounded(part),
    tool: registry.fromAlias(part.tool) ?? part.tool,
    callId: callOfStep(stepId, position++),
  });
  return parts.map((part) => (part.type === 'tool-call' ? named(part) : part));
}

/** Arguments that are too large are not stored; the model is told why the call was not run. */
function bounded(part: CallPart): CallPart {
  const bytes = Buffer.byteLength(JSON.stringify(part.arguments));
  if (bytes <= MAX_VALUE_BYTES) return part;
  const unreadable = `Its arguments take ${bytes} bytes as JSON; at most ${MAX_VALUE_BYTES} are allowed. Write the content to a file in pieces, and pass its path`;
  return { ...part, arguments: {}, unreadable };
}
