import { Context } from '@temporalio/activity';
import type { CallModelArgs, CallModelResult, ModelOutcome, ProposedCall } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { callOfStep } from '../contracts/call-ids.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import type { Answer, AssistantPart, Compaction, StoredEntry, TranscriptEntry } from '../contracts/transcript.ts';
import type { Usage } from '../contracts/usage.ts';
import type { Logger } from '../platform/log.ts';
import type { Models } from '../models/create-models.ts';
import { createDeltaWriter } from '../models/delta-writer.ts';
import type { ReadMedia } from '../models/media/prompt-media.ts';
import type { ModelAnswer, ModelRequest } from '../models/model.ts';
import { modelName } from '../common/model-name.ts';
import type { JsonObject } from '../contracts/json.ts';
import { shownEntries } from '../models/context/shown-entries.ts';
import { judgeCalls } from '../plugins/approval/judge-calls.ts';
import { registryInConversation } from '../plugins/registry/registry-in-conversation.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import { shownArguments } from '../tool-calls/results/shown-arguments.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { checkAnswer, formOf, outputFor } from './check-answer.ts';
import { affordStep } from '../models/context/afford-step.ts';
import { createAgentsMdNotes } from './project/note-agents-md.ts';
import { classifyAbort, toTemporalFailure } from './failures.ts';
import { lookIntoServers } from './look-into-servers.ts';
import { findAgent, isFull, mayCompact, promptOf, recallsIn, savesIn, type StepPrompt } from './prompt-of-step.ts';
import { MAX_VALUE_BYTES } from '../tool-calls/results/method-answer.ts';
import { commandOf, type CalledCommand } from '../tool-calls/offer/command-of.ts';
import { offerTools, type Offer } from '../tool-calls/offer/offer-tools.ts';
import type { SkillShelf } from '../tool-calls/skills/skill-shelf.ts';
import { redact } from '../tool-calls/results/redact.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';

export interface CallModelDependencies {
  store: Pick<Store, 'transcript' | 'compactions' | 'toolCalls' | 'events' | 'pluginStore' | 'messages' | 'media'> & {
    conversations: Pick<Store['conversations'], 'storedBytes'>;
  };
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
  models: Models;
  /** Absent: no agent has skills. */
  skills?: Pick<SkillShelf, 'of'>;
  log: Logger;
  opened: Pick<ConversationSandboxes, 'ifAwake'>;
}
type AssistantEntry = TranscriptEntry & { role: 'assistant' };
type CallPart = AssistantPart & { type: 'tool-call' };

/** Stands for the model in what is counted of a step that a command answers. */
const COMMAND = 'command';
const HEARTBEAT_MS = 500;
/** The delays after failures grow from half a second to a minute; this many failures take longer than a quarter of an hour. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
const MAX_FAILURES = 20;

/** State that Temporal keeps from one attempt to the next. */
interface Kept {
  /** Failures of the provider or of a service. Attempts that ended because their worker died do not count. */
  failures: number;
}

/**
 * Makes the activity of one model call. Once the answer's transcript entry (key = step id) is stored, the answer is final: an attempt that finds it
 * rebuilds the same outcome from it and does not call the model again.
 */
export function createCallModel(parts: CallModelDependencies): (args: CallModelArgs) => Promise<CallModelResult> {
  const noteAgentsMd = createAgentsMdNotes(parts);
  return async (args) => {
    const kept: Kept = { failures: failuresBefore() };
    const heartbeat = startHeartbeat(kept);
    try {
      const agent = findAgent(parts.agents, args.agentId);
      await prepare(parts, args, agent);
      const { storageLimit = Infinity, conversationId } = args;
      const [transcript, compactions, storedBytes] = await Promise.all([
        parts.store.transcript.read(conversationId),
        parts.store.compactions.list(conversationId),
        storageLimit === Infinity ? 0 : parts.store.conversations.storedBytes(conversationId),
      ]);
      const stored = findAnswer(transcript, args.stepId);
      if (!stored && storedBytes >= storageLimit) return { outcome: 'exhausted', storedBytes };
      const entries = await noteAgentsMd(args, agent, { transcript, compactions, isAnswered: stored !== undefined });
      const dependencies = { ...parts, registry: await registryInConversation(parts, agent, args) };
      const offer = await offerTools(dependencies, args, agent, recallsIn(agent, compactions), savesIn(transcript));
      const output = await outputFor(parts, args, agent);
      const asked = { ...withForm(offer, output), command: await commandOf(dependencies.registry, agent, entries, args) };
      const answer = stored ?? (await answerStep(dependencies, args, asked, { transcript: entries, compactions }));
      if ('outcome' in answer) return answer;
      const proposed = await proposeCalls(dependencies, args, asked, answer);
      return output ? { ...proposed, answer: await checkAnswer(parts, args, output, answer) } : proposed;
    } catch (error) {
      if (isFailure(error) && !error.retryable) return { outcome: 'failed', code: error.code, message: operatorText(error.message, undefined, redact) };
      if (Context.current().cancellationSignal.aborted) throw classifyAbort(error);
      return failedAgain(kept, error);
    } finally {
      clearInterval(heartbeat);
    }
  };
}

/** Plugins say what they offer within a time limit, and offer nothing after that: what they would have to find out is found out before. */
async function prepare(parts: CallModelDependencies, args: CallModelArgs, agent: Agent): Promise<void> {
  await lookIntoServers(parts, args, agent);
  await parts.skills?.of(args);
}

interface Asked extends Offer {
  /** The JSON Schema that the final answer has to fit. */
  output?: JsonObject;
  /** Answers in place of the model. */
  command?: CalledCommand | undefined;
}

function withForm(offer: Offer, output: JsonObject | undefined): Asked {
  return output ? { ...offer, texts: [...offer.texts, formOf(output)], output } : offer;
}

/** A heartbeat receives a cancellation. An answer that comes before the first heartbeat needs no request for it. */
function startHeartbeat(kept: Kept): NodeJS.Timeout {
  const context = Context.current();
  return setInterval(() => context.heartbeat({ ...kept }), HEARTBEAT_MS);
}

function failuresBefore(): number {
  const { failures } = (Context.current().info.heartbeatDetails ?? {}) as Partial<Kept>;
  return typeof failures === 'number' ? failures : 0;
}

/**
 * The delay before the next attempt grows with the number of failures, not of attempts: Temporal also counts attempts whose worker died, and its own
 * policy keeps the delay after a death short.
 */
function failedAgain(kept: Kept, error: unknown): CallModelResult {
  kept.failures += 1;
  if (kept.failures >= MAX_FAILURES) {
    const message = operatorText(error instanceof Error ? error.message : String(error), undefined, redact);
    return { outcome: 'failed', code: isFailure(error) ? error.code : 'INTERNAL', message: `${message} It was tried ${kept.failures} times.` };
  }
  Context.current().heartbeat({ ...kept });
  throw toTemporalFailure(error, Math.min(FIRST_PAUSE_MS * 2 ** (kept.failures - 1), LONGEST_PAUSE_MS));
}

async function answerStep(
  parts: CallModelDependencies,
  args: CallModelArgs,
  asked: Asked,
  { transcript, compactions }: { transcript: StoredEntry[]; compactions: Compaction[] },
): ReturnType<typeof askModel> {
  if (asked.command) return answerByCommand(parts, args, asked.command);
  return askModel(parts, args, asked, promptOf(asked, parts.registry, transcript, compactions));
}

async function askModel(
  parts: CallModelDependencies,
  args: CallModelArgs,
  offer: Asked,
  prompt: StepPrompt,
): Promise<AssistantEntry | Extract<ModelOutcome, { outcome: 'unaffordable' | 'compact' }>> {
  const { store, models } = parts;
  const { conversationId, turnId, stepId, step } = args;
  const { info, cancellationSignal } = Context.current();
  const model = models.get(offer.agent);
  const name = modelName(offer.agent);
  if (args.priceRequired && !models.isPriced(offer.agent)) throw failure('MODEL_PRICE_UNKNOWN', { model: name, agent: args.agentId });
  if (isFull(offer.agent, args, prompt)) return { outcome: 'compact', reason: 'full' };
  const affordable = args.tokensLeft === undefined ? {} : affordStep(args.tokensLeft, prompt);
  if ('needs' in affordable) return { outcome: 'unaffordable', needs: affordable.needs };
  const stamp = { turnId, stepId, attempt: info.attempt };
  await store.events.append(conversationId, [{ ...stamp, type: 'step.started', data: { step, attempt: info.attempt } }]);
  const deltas = createDeltaWriter((events) => store.events.append(conversationId, events), stamp);
  const { transcript, compactions, instructions, tools, recall } = prompt;
  const shown = shownEntries(transcript, compactions, recall);
  const form = offer.output && { output: offer.output };
  const readMedia: ReadMedia = (blob, most) => store.media.read(conversationId, blob, most);
  const place = { conversationId, turnId, step, instructions, tools };
  const request: ModelRequest = { ...place, ...affordable, ...form, transcript, shown, readMedia, signal: cancellationSignal };
  const answer = await model.answer(request, deltas.add).catch(async (error: unknown) => {
    await deltas.flush();
    if (isFailure(error, 'MODEL_CONTEXT_TOO_LONG') && mayCompact(offer.agent, args)) return undefined;
    throw error;
  });
  if (!answer) return { outcome: 'compact', reason: 'too-long' };
  await deltas.flush();
  return storeAnswer(parts, args, answer, name);
}

/** The answer of a step of a command: its call, and then what it said. No model is asked, so nothing is used. */
async function answerByCommand(parts: CallModelDependencies, args: CallModelArgs, { tool, text, said }: CalledCommand): Promise<AssistantEntry> {
  const { conversationId, turnId, stepId, step } = args;
  const { attempt } = Context.current().info;
  const stamp = { turnId, stepId, attempt };
  await parts.store.events.append(conversationId, [{ ...stamp, type: 'step.started', data: { step, attempt } }]);
  const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  if (said === undefined) return storeAnswer(parts, args, { parts: [{ type: 'tool-call', callId: '', tool: tool.id, arguments: { text } }], usage }, COMMAND);
  const deltas = createDeltaWriter((events) => parts.store.events.append(conversationId, events), stamp);
  deltas.add({ type: 'text', text: said });
  await deltas.flush();
  return storeAnswer(parts, args, { parts: [{ type: 'text', text: said }], usage }, COMMAND);
}

async function storeAnswer(
  { store, registry }: CallModelDependencies,
  args: CallModelArgs,
  { parts, usage }: ModelAnswer,
  model: string,
): Promise<AssistantEntry> {
  const entry: Answer = { role: 'assistant', parts: nameCalls(parts, args.stepId, registry), usage };
  if (await store.transcript.addAnswer(args, entry, model)) return entry;
  // Another attempt, which was thought dead, stored its answer first: that answer counts.
  return findAnswer(await store.transcript.read(args.conversationId), args.stepId) ?? entry;
}

function findAnswer(transcript: StoredEntry[], stepId: string): AssistantEntry | undefined {
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

async function proposeCalls(
  { store, registry }: CallModelDependencies,
  args: CallModelArgs,
  offer: Asked,
  entry: AssistantEntry,
): Promise<Extract<CallModelResult, { outcome: 'answered' }>> {
  const { conversationId, turnId, stepId } = args;
  const usage = entry.usage ?? { inputTokens: 0, outputTokens: 0 };
  const parts = entry.parts.filter((part) => part.type === 'tool-call');
  const { calls, accepted, refusals } = await judge(registry, offer, parts, args);
  if (parts.length > 0) {
    const hashes = new Map(calls.map(({ callId, hash }) => [callId, hash]));
    await store.toolCalls.propose(
      parts.map((part, index) => ({
        callId: part.callId,
        conversationId,
        turnId,
        stepId,
        tool: part.tool,
        arguments: accepted[index] ?? part.arguments,
        hash: hashes.get(part.callId) ?? '',
      })),
    );
  }
  await store.events.append(conversationId, describeStep(args, accepted, calls, usage));
  for (const [callId, text] of refusals) await refuse(store, args, parts, callId, text);
  const spoke = entry.parts.some((part) => part.type === 'text' && part.text.trim() !== '');
  return { outcome: 'answered', calls, usage, spoke };
}

type Judged = { calls: ProposedCall[]; accepted: JsonObject[]; refusals: Map<string, string> };

async function judge(registry: Registry, offer: Asked, parts: CallPart[], args: CallModelArgs): Promise<Judged> {
  const { agent, available, command } = offer;
  const { allowedTools = [], unattended = false } = args;
  const called = command?.said === undefined && command ? { available: [command.tool], caller: 'message' as const } : { available };
  const judged = await judgeCalls({ registry, agent, allowedTools, unattended, calls: parts, ...called });
  const unreadable = new Map(parts.flatMap((part) => (part.unreadable === undefined ? [] : [[part.callId, part.unreadable] as const])));
  const calls = judged.proposed.map((call): ProposedCall => {
    const why = unreadable.get(call.callId);
    return why === undefined ? call : { ...call, decision: 'invalid', why };
  });
  return { calls, accepted: judged.accepted, refusals: new Map([...judged.refusals.map(({ callId, text }) => [callId, text] as const), ...unreadable]) };
}

function describeStep({ turnId, stepId }: CallModelArgs, accepted: JsonObject[], calls: ProposedCall[], usage: Usage): NewEvent[] {
  const finished: NewEvent = { type: 'step.finished', turnId, stepId, data: { usage: { ...usage } }, key: `step.finished/${stepId}` };
  const requested = calls.map(({ callId, tool, decision, why }, index): NewEvent => {
    const data = { callId, tool, ...shownArguments(accepted[index] ?? {}), decision, why };
    return { type: 'tool.requested', turnId, stepId, data, key: `tool.requested/${callId}` };
  });
  return [finished, ...requested];
}

/** Settles a call that cannot run. */
async function refuse(store: Pick<Store, 'toolCalls'>, { turnId, stepId }: CallModelArgs, parts: CallPart[], callId: string, text: string): Promise<void> {
  const tool = parts.find((part) => part.callId === callId)?.tool ?? '';
  const finished: NewEvent = { type: 'tool.finished', turnId, stepId, data: { callId, tool, isError: true, text, durationMs: 0 } };
  await store.toolCalls.settle(callId, undefined, { state: 'failed', content: [{ type: 'text', text }], isError: true }, [finished]);
}
