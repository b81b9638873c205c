import { Context } from '@temporalio/activity';
import type { CallModelArgs, CallModelResult, ModelOutcome, ProposedCall } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import type { Compaction, StoredEntry } from '../contracts/transcript.ts';
import type { AskedByPlugins } from '../contracts/usage.ts';
import { cutMiddle } from '../contracts/visible-text.ts';
import type { Logger } from '../platform/log.ts';
import type { Models } from '../models/create-models.ts';
import { createDeltaWriter } from '../models/delta-writer.ts';
import type { ReadMedia } from '../models/media/prompt-media.ts';
import type { ModelRequest } from '../models/model.ts';
import { withinInline } from '../common/calls/inline-arguments.ts';
import { modelName } from '../common/model-name.ts';
import type { JsonObject } from '../contracts/json.ts';
import { shownEntries } from '../models/context/shown-entries.ts';
import { judgeCalls } from '../plugins/approval/judge-calls.ts';
import { registryInConversation } from '../plugins/registry/registry-in-conversation.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { checkAnswer, formOf, outputFor } from './check-answer.ts';
import { affordStep } from '../models/context/afford-step.ts';
import { createAgentsMdNotes } from './project/note-agents-md.ts';
import { classifyAbort, toTemporalFailure } from './failures.ts';
import { lookIntoServers } from './look-into-servers.ts';
import { findAgent, isFull, mayCompact, promptOf, recallsIn, savesIn, type StepPrompt } from './prompt-of-step.ts';
import { answerByCommand, answerByPlugin } from './step/answer-without-model.ts';
import { settleAnswer, shownBy } from './step/settle-answer.ts';
import { beginStep, describeStep, findAnswer, NO_USAGE, openStep, type CallPart, type StoredAnswer } from './step/store-answer.ts';
import { askedByHooks, askedByTasks, lackingIn } from './step/asked-of-model.ts';
import { changePrompt, namesOf, type Asked as Prompt } from '../tool-calls/hooks/change-prompt.ts';
import { receiveMessages, type Received } from '../tool-calls/hooks/receive-messages.ts';
import { createStepHooks, type StepHooks } from '../tool-calls/hooks/step-hooks.ts';
import { commandOf, type CalledCommand } from '../tool-calls/offer/command-of.ts';
import { offerTools, type Offer } from '../tool-calls/offer/offer-tools.ts';
import type { SkillShelf } from '../tool-calls/skills/skill-shelf.ts';
import { redact } from '../tool-calls/results/redact.ts';
import { hostsOfQuestions } from '../tool-calls/run/tool-context.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';

export interface CallModelDependencies {
  store: Pick<Store, 'transcript' | 'compactions' | 'toolCalls' | 'events' | 'pluginStore' | 'messages' | 'media' | 'usage' | 'taskQuestions'> & {
    conversations: Pick<Store['conversations'], 'storedBytes'>;
  };
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
  models: Models;
  /** Absent: no agent has skills. */
  skills?: Pick<SkillShelf, 'lookUp'>;
  log: Logger;
  opened: Pick<ConversationSandboxes, 'ifAwake'>;
}
const HEARTBEAT_MS = 500;
/** The delays after failures grow from half a second to a minute; this many failures take longer than a quarter of an hour. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
const MAX_FAILURES = 20;
/** Characters that the workflow and the log are given of why a call cannot run. */
const MOST_WHY = 500;
const MOST_REFUSAL = 20_000;

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
  const callModel = async (args: CallModelArgs): Promise<CallModelResult> => {
    const kept: Kept = { failures: failuresBefore() };
    const heartbeat = startHeartbeat(kept);
    try {
      const agent = findAgent(parts.agents, args.agentId);
      await prepare(parts, args, agent);
      const { storageLimit, conversationId } = args;
      const [transcript, compactions, storedBytes, tasks] = await Promise.all([
        parts.store.transcript.current(conversationId),
        parts.store.compactions.list(conversationId),
        storageLimit === undefined ? 0 : parts.store.conversations.storedBytes(conversationId),
        askedByTasks(parts, args),
      ]);
      const stored = findAnswer(transcript, args.stepId);
      const lacking = stored ? undefined : lackingIn(args, storedBytes, tasks);
      if (lacking) return { ...lacking, ...tasks };
      const entries = await noteAgentsMd(args, agent, { transcript, compactions, isAnswered: stored !== undefined });
      const dependencies = { ...parts, registry: await registryInConversation(parts, agent, args) };
      const received = await receive(dependencies, args, agent, { entries, isAnswered: stored !== undefined });
      const offer = await offerTools(dependencies, args, agent, recallsIn(agent, compactions), savesIn(transcript));
      const output = await outputFor(parts, args, agent);
      const asked: Asked = { ...withForm(offer, output), command: received.command, hooks: received.hooks };
      const answer = stored ? { entry: stored, isFinished: false } : await answerStep(dependencies, args, asked, { ...received, compactions });
      if ('outcome' in answer) return { ...answer, ...tasks };
      await received.hooks.forget();
      const proposed = { ...(await proposeCalls(dependencies, args, asked, answer)), ...tasks };
      return output ? { ...proposed, answer: await checkAnswer(parts, args, output, answer.entry) } : proposed;
    } catch (error) {
      if (isFailure(error) && !error.retryable) return { outcome: 'failed', code: error.code, message: operatorText(error.message, undefined, redact) };
      if (Context.current().cancellationSignal.aborted) throw classifyAbort(error);
      return failedAgain(kept, error);
    } finally {
      clearInterval(heartbeat);
    }
  };
  return async (args) => ({ ...(await callModel(args)), ...(await askedByHooks(parts, args)) });
}

/** What plugins make of the messages that are to be answered, and the command that is one of them then. */
async function receive(
  parts: CallModelDependencies,
  args: CallModelArgs,
  agent: Agent,
  { entries, isAnswered }: { entries: StoredEntry[]; isAnswered: boolean },
) {
  const asking = { args: { ...args, callId: args.stepId }, agent, models: parts.models, store: parts.store };
  const hooks = createStepHooks({ ...parts, host: hostsOfQuestions(asking, Context.current().cancellationSignal) }, agent, args);
  const received: Received = isAnswered ? { transcript: entries } : await receiveMessages({ ...parts, agent, hooks }, args, entries);
  const command = received.said === undefined ? await commandOf(parts.registry, agent, received.transcript, args) : undefined;
  return { ...received, command, hooks };
}

/** Plugins say what they offer within a time limit, and offer nothing after that: what they would have to find out is found out before. */
async function prepare(parts: CallModelDependencies, args: CallModelArgs, agent: Agent): Promise<void> {
  await lookIntoServers(parts, args, agent);
  await parts.skills?.lookUp(args);
}

interface Asked extends Offer {
  /** The JSON Schema that the final answer has to fit. */
  output?: JsonObject;
  /** Answers in place of the model. */
  command: CalledCommand | undefined;
  hooks: StepHooks;
}

function withForm(offer: Offer, output: JsonObject | undefined): Offer & Pick<Asked, 'output'> {
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
  { transcript, compactions, said }: Received & { compactions: Compaction[] },
): ReturnType<typeof askModel> {
  if (said !== undefined) return answerByPlugin(parts, args, said);
  if (asked.command) return answerByCommand(parts, args, asked.command);
  return askModel(parts, args, asked, promptOf(asked, parts.registry, transcript, compactions));
}

async function askModel(
  parts: CallModelDependencies,
  args: CallModelArgs,
  offer: Asked,
  prompt: StepPrompt,
): Promise<StoredAnswer | Extract<ModelOutcome, { outcome: 'unaffordable' | 'compact' }>> {
  const { store, models } = parts;
  const { conversationId, turnId, stepId, step } = args;
  const { info, cancellationSignal } = Context.current();
  const model = models.get(offer.agent);
  const name = modelName(offer.agent);
  if (args.priceRequired && !models.isPriced(offer.agent)) throw failure('MODEL_PRICE_UNKNOWN', { model: name, agent: args.agentId });
  if (isFull(offer.agent, args, prompt)) return { outcome: 'compact', reason: 'full' };
  const { hooks } = offer;
  const asked = await changePrompt(hooks, stepId, askedIn(prompt), offer.available);
  const tokensLeft = args.tokensLeft === undefined ? undefined : args.tokensLeft - tokensOf(await askedByHooks(parts, args));
  const affordable = tokensLeft === undefined ? {} : affordStep(tokensLeft, { ...prompt, instructions: asked.instructions, tools: asked.tools });
  if ('needs' in affordable) return { outcome: 'unaffordable', needs: affordable.needs };
  const other = await beginStep(store, args);
  if (other) return other;
  const place = openStep(args);
  const deltas = createDeltaWriter(async (events) => void (await store.events.appendOpen(place, events)), { turnId, stepId, attempt: info.attempt });
  const form = offer.output && { output: offer.output };
  const { transcript } = prompt;
  const readMedia: ReadMedia = (blob, most) => store.media.read(conversationId, blob, most);
  const request: ModelRequest = { conversationId, turnId, step, ...asked, ...affordable, ...form, transcript, readMedia, signal: cancellationSignal };
  const answer = await model.answer(request, shownBy({ hooks, deltas })).catch(async (error: unknown) => {
    await deltas.flush();
    if (isFailure(error, 'MODEL_CONTEXT_TOO_LONG') && mayCompact(offer.agent, args)) return undefined;
    throw error;
  });
  if (!answer) return { outcome: 'compact', reason: 'too-long' };
  const names = namesOf(asked.tools, offer.available);
  return settleAnswer(parts, { args, hooks, deltas, model: name, nameOf: (tool) => names.get(tool) ?? tool }, answer);
}

function tokensOf({ asked }: AskedByPlugins): number {
  return asked ? asked.inputTokens + asked.outputTokens : 0;
}

function askedIn({ instructions, tools, transcript, compactions, recall }: StepPrompt): Prompt {
  return { instructions, tools, shown: shownEntries(transcript, compactions, recall) };
}

async function proposeCalls(
  { store, registry }: CallModelDependencies,
  args: CallModelArgs,
  offer: Asked,
  { entry, isFinished }: StoredAnswer,
): Promise<Extract<CallModelResult, { outcome: 'answered' }>> {
  const { conversationId, turnId, stepId } = args;
  const usage = entry.usage ?? NO_USAGE;
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
  if (!isFinished)
    await store.events.append(
      conversationId,
      describeStep(
        args,
        entry,
        calls.map((call, index) => ({ ...call, arguments: accepted[index] ?? {} })),
      ),
    );
  for (const [callId, text] of refusals) await refuse(store, args, parts, callId, text);
  const spoke = entry.parts.some((part) => part.type === 'text' && part.text.trim() !== '');
  return { outcome: 'answered', calls: withinInline(calls), usage, spoke };
}

type Judged = { calls: ProposedCall[]; accepted: JsonObject[]; refusals: Map<string, string> };

async function judge(registry: Registry, offer: Asked, parts: CallPart[], args: CallModelArgs): Promise<Judged> {
  const { agent, available, command } = offer;
  const { allowedTools = [], unattended = false } = args;
  const called = command?.said === undefined && command ? { available: [command.tool], caller: 'message' as const } : { available };
  const judged = await judgeCalls({ registry, agent, allowedTools, unattended, calls: parts, ...called });
  const unreadable = new Map(parts.flatMap((part) => (part.unreadable === undefined ? [] : [[part.callId, part.unreadable] as const])));
  const calls = judged.proposed.map((call): ProposedCall => {
    const why = unreadable.get(call.callId) ?? call.why;
    // The model has the whole of it as the result of the call.
    return unreadable.has(call.callId) || call.decision === 'invalid' ? { ...call, decision: 'invalid', why: cutMiddle(why, MOST_WHY) } : call;
  });
  const refusals = new Map([...judged.refusals.map(({ callId, text }) => [callId, text] as const), ...unreadable]);
  return { calls, accepted: judged.accepted, refusals };
}

/** Settles a call that cannot run. */
async function refuse(store: Pick<Store, 'toolCalls'>, { turnId, stepId }: CallModelArgs, parts: CallPart[], callId: string, whole: string): Promise<void> {
  // A problem names the path to it, and a model may write any names.
  const text = cutMiddle(whole, MOST_REFUSAL);
  const tool = parts.find((part) => part.callId === callId)?.tool ?? '';
  const finished: NewEvent = { type: 'tool.finished', turnId, stepId, data: { callId, tool, isError: true, text, durationMs: 0 } };
  await store.toolCalls.settle(callId, undefined, { state: 'failed', content: [{ type: 'text', text }], isError: true }, [finished]);
}
