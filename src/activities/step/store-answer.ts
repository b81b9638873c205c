import { CancelledFailure, Context } from '@temporalio/activity';
import type { CallModelArgs, ProposedCall } from '../../contracts/activities.ts';
import { callOfStep } from '../../contracts/call-ids.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Answer, AssistantPart, StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import type { Usage } from '../../contracts/usage.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { ModelAnswer } from '../../models/model.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { NewEvent, Store } from '../../store/store.ts';
import { MAX_VALUE_BYTES } from '../../tool-calls/results/method-answer.ts';
import { shownArguments } from '../../tool-calls/results/shown-arguments.ts';

export type AssistantEntry = TranscriptEntry & { role: 'assistant' };
/** Of an answer of an earlier version. */
export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };
export type CallPart = AssistantPart & { type: 'tool-call' };

/** Calls of an answer: a workflow can neither be given very many nor have so many activities. */
export const MOST_CALLS = 500;
/** Characters of a name that is that of no tool: it stands in what the workflow is given, and in the result. */
const MOST_UNKNOWN = 200;

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
  { parts, usage, cutOff }: ModelAnswer,
  { model, told }: { model: string; told: NewEvent[] },
): Promise<StoredAnswer> {
  const entry: Answer = { role: 'assistant', parts: nameCalls(parts, args.stepId, registry), usage, ...(cutOff && { cutOff }) };
  const isFinished = entry.parts.every(({ type }) => type !== 'tool-call');
  const events = isFinished ? [...told, stepFinished(args, entry)] : told;
  if (await store.transcript.addAnswer({ ...args, endKey: keyOfEnd(args.turnId) }, entry, model, events)) return { entry, isFinished };
  return answerOfOther(store, args);
}

/** Another attempt, which was thought dead, stored its answer first: that answer counts. */
async function answerOfOther({ transcript }: Pick<Store, 'transcript'>, { conversationId, stepId }: CallModelArgs): Promise<StoredAnswer> {
  const entry = await transcript.answerOf(conversationId, stepId);
  if (!entry) throw new CancelledFailure('The turn had ended before the model answered; the answer was not stored');
  return { entry, isFinished: false };
}

/** Tells that an attempt at the step begins. Returns the answer that another one has stored since this one looked for it. */
export async function beginStep(store: AnswerParts['store'], args: CallModelArgs): Promise<StoredAnswer | undefined> {
  const { turnId, stepId, step } = args;
  const { attempt } = Context.current().info;
  const isOpen = await store.events.appendOpen(openStep(args), [{ turnId, stepId, attempt, type: 'step.started', data: { step, attempt } }]);
  return isOpen ? undefined : answerOfOther(store, args);
}

/** Where an attempt at a step may write while the step has no answer, and its turn goes on. */
export function openStep({ conversationId, turnId, stepId }: CallModelArgs): { conversationId: string; stepId: string; endKey: string } {
  return { conversationId, stepId, endKey: keyOfEnd(turnId) };
}

/** The key of the event that ends a turn, the same in each activity of the run: a local one, and another one when that has failed. */
export function keyOfEnd(turnId: string): string {
  return `${Context.current().info.workflowExecution?.runId ?? ''}/turn.finished/${turnId}`;
}

function stepFinished({ turnId, stepId }: Pick<CallModelArgs, 'turnId' | 'stepId'>, { usage = NO_USAGE, cutOff }: AssistantEntry): NewEvent {
  return { type: 'step.finished', turnId, stepId, data: { usage: { ...usage }, ...(cutOff && { cutOff }) }, key: `step.finished/${stepId}` };
}

/** The events that a step is finished and which calls were requested: each is logged once. `arguments`: those that the call runs with. */
export function describeStep(
  { turnId, stepId }: Pick<CallModelArgs, 'turnId' | 'stepId'>,
  answer: AssistantEntry,
  calls: (Pick<ProposedCall, 'callId' | 'tool' | 'decision' | 'why'> & { arguments: JsonObject })[],
): NewEvent[] {
  const requested = calls.map(({ callId, tool, arguments: given, decision, why }): NewEvent => {
    const data = { callId, tool, ...shownArguments(given), decision, why };
    return { type: 'tool.requested', turnId, stepId, data, key: `tool.requested/${callId}` };
  });
  return [stepFinished({ turnId, stepId }, answer), ...requested];
}

export function findAnswer(transcript: StoredEntry[], stepId: string): AssistantEntry | undefined {
  const found = transcript.find((stored) => stored.stepId === stepId && stored.entry.role === 'assistant');
  return found?.entry.role === 'assistant' ? found.entry : undefined;
}

/** Gives each tool call its id, made of the step's id and its number, and its tool's full id, even when the tool was not shown. */
function nameCalls(parts: AssistantPart[], stepId: string, registry: Registry): AssistantPart[] {
  const count = parts.filter(({ type }) => type === 'tool-call').length;
  let position = 0;
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type !== 'tool-call') return [part];
    const place = position++;
    if (place >= MOST_CALLS) return [];
    const tool = registry.fromAlias(part.tool) ?? part.tool;
    const named: CallPart = { ...bounded(part), tool: registry.get(tool) ? tool : cutMiddle(tool, MOST_UNKNOWN), callId: callOfStep(stepId, place) };
    return [place === MOST_CALLS - 1 && count > MOST_CALLS ? { ...named, unreadable: tooMany(count) } : named];
  });
}

/** What the model reads as the result of the last call that is kept. */
function tooMany(count: number): string {
  return `The answer has ${count} calls, and at most ${MOST_CALLS} are allowed: this one and all after it were not run. Ask for fewer at once`;
}

/** Arguments that are too large are not stored; the model is told why the call was not run. */
function bounded(part: CallPart): CallPart {
  const bytes = Buffer.byteLength(JSON.stringify(part.arguments));
  if (bytes <= MAX_VALUE_BYTES) return part;
  const unreadable = `Its arguments take ${bytes} bytes as JSON; at most ${MAX_VALUE_BYTES} are allowed. Write the content to a file in pieces, and pass its path`;
  return { ...part, arguments: {}, unreadable };
}
