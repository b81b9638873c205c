import { Context } from '@temporalio/activity';
import type { CallModelArgs, CallModelResult, ProposedCall } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { callOfStep } from '../contracts/call-ids.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import type { Answer, AssistantPart, StoredEntry, TranscriptEntry } from '../contracts/transcript.ts';
import type { Usage } from '../contracts/usage.ts';
import type { Logger } from '../platform/log.ts';
import type { Models } from '../models/create-models.ts';
import { createDeltaWriter } from '../models/delta-writer.ts';
import type { ModelRequest } from '../models/model.ts';
import { modelName } from '../common/model-name.ts';
import type { JsonObject } from '../contracts/json.ts';
import { judgeCalls } from '../plugins/approval/judge-calls.ts';
import { registryInConversation } from '../plugins/registry/registry-in-conversation.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import { shownArguments } from '../tool-calls/results/shown-arguments.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { toTemporalFailure } from './failures.ts';
import { lookIntoServers } from './look-into-servers.ts';
import { MAX_VALUE_BYTES } from '../tool-calls/results/method-answer.ts';
import { offerTools, showOffer, type Offer } from '../tool-calls/offer/offer-tools.ts';
import { whyCancelled } from '../tool-calls/run/cancellation.ts';
import { redact } from '../tool-calls/results/redact.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';

export interface CallModelDependencies {
  store: Pick<Store, 'transcript' | 'toolCalls' | 'events' | 'pluginStore'> & { conversations: Pick<Store['conversations'], 'storedBytes'> };
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
  models: Models;
  log: Logger;
  opened: Pick<ConversationSandboxes, 'ifAwake'>;
}
type AssistantEntry = TranscriptEntry & { role: 'assistant' };
type CallPart = AssistantPart & { type: 'tool-call' };

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
  return async (args) => {
    const kept: Kept = { failures: failuresBefore() };
    const heartbeat = startHeartbeat(kept);
    try {
      const agent = findAgent(parts.agents, args.agentId);
      await lookIntoServers(parts, args, agent);
      const { storageLimit = Infinity, conversationId } = args;
      const [transcript, storedBytes] = await Promise.all([
        parts.store.transcript.read(conversationId),
        storageLimit === Infinity ? 0 : parts.store.conversations.storedBytes(conversationId),
      ]);
      const stored = findAnswer(transcript, args.stepId);
      if (!stored && storedBytes >= storageLimit) return { outcome: 'exhausted', storedBytes };
      const dependencies = { ...parts, registry: await registryInConversation(parts.registry, agent, args) };
      const offer = await offerTools(dependencies, args, agent);
      const answer = stored ?? (await askModel(dependencies, args, offer, transcript));
      return await proposeCalls(dependencies, args, offer, answer);
    } catch (error) {
      if (isFailure(error) && !error.retryable) return { outcome: 'failed', code: error.code, message: operatorText(error.message, undefined, redact) };
      if (Context.current().cancellationSignal.aborted) throw classifyAbort(error);
      return failedAgain(kept, error);
    } finally {
      clearInterval(heartbeat);
    }
  };
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

function findAgent(agents: ReadonlyMap<string, Agent>, agentId: string): Agent {
  const agent = agents.get(agentId);
  if (agent) return agent;
  throw failure('AGENT_NOT_FOUND', { agent: agentId, known: [...agents.keys()].join(', ') || 'none', directory: "the workers' agents directory" });
}

/** Only the workflow's request ends a model call for good; when a worker shuts down, another one retries the call. */
function classifyAbort(error: unknown): unknown {
  const abandoned = Context.current().cancellationSignal.aborted && !isFailure(error) && whyCancelled() === 'moved';
  return abandoned ? failure('INTERNAL', { problem: 'the worker stopped during a model call' }, error) : error;
}

async function askModel(
  { store, registry, models }: CallModelDependencies,
  args: CallModelArgs,
  offer: Offer,
  transcript: StoredEntry[],
): Promise<AssistantEntry> {
  const { conversationId, turnId, stepId, step } = args;
  const { info, cancellationSignal } = Context.current();
  const model = models.get(offer.agent);
  const name = modelName(offer.agent);
  if (args.priceRequired && !models.isPriced(offer.agent)) throw failure('MODEL_PRICE_UNKNOWN', { model: name, agent: args.agentId });
  const stamp = { turnId, stepId, attempt: info.attempt };
  await store.events.append(conversationId, [{ ...stamp, type: 'step.started', data: { step, attempt: info.attempt } }]);
  const deltas = createDeltaWriter((events) => store.events.append(conversationId, events), stamp);
  const shown = showOffer(offer, registry, transcript);
  const request: ModelRequest = { conversationId, turnId, step, ...shown, transcript, signal: cancellationSignal };
  const answer = await model.answer(request, deltas.add).catch(async (error: unknown) => {
    await deltas.flush();
    throw error;
  });
  await deltas.flush();
  const entry: Answer = { role: 'assistant', parts: nameCalls(answer.parts, stepId, registry), usage: answer.usage };
  if (await store.transcript.addAnswer(args, entry, name)) return entry;
  // Another attempt, which was thought dead, stored its answer first: that answer counts.
  return findAnswer(await store.transcript.read(conversationId), stepId) ?? entry;
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

async function proposeCalls({ store, registry }: CallModelDependencies, args: CallModelArgs, offer: Offer, entry: AssistantEntry): Promise<CallModelResult> {
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

async function judge(registry: Registry, { agent, available }: Offer, parts: CallPart[], args: CallModelArgs): Promise<Judged> {
  const { allowedTools = [], unattended = false } = args;
  const judged = await judgeCalls({ registry, agent, available, allowedTools, unattended, calls: parts });
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
