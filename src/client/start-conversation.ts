import { createHash } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { limitsOf } from '../definitions/agents/limits-of.ts';
import type { AttachmentContent } from '../contracts/attachments/media.ts';
import type { ClientTools } from '../contracts/client-tool.ts';
import type { Agent, AgentLimits, Budget } from '../contracts/agent.ts';
import type { ConversationInput } from '../contracts/conversation-run.ts';
import { CONVERSATION_WORKFLOW, type ConversationStatus, type QueuedMessage } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { summaryLine } from '../contracts/markdown.ts';
import type { JsonObject } from '../contracts/json.ts';
import { makeId } from '../contracts/ids.ts';
import { temporalPriority } from '../contracts/places/priority.ts';
import { isScheduledId, type ScheduledBy } from '../contracts/schedule.ts';
import type { ImportedFrom } from '../contracts/imports/import.ts';
import type { ForkInput } from '../contracts/forks/fork.ts';
import type { Parent, Share } from '../contracts/sub-agent.ts';
import type { NewFork } from '../store/conversation/forks.ts';
import type { Store } from '../store/store.ts';
import { keepAttachments } from './attachments/keep-attachments.ts';
import { readAttachments } from './attachments/read-attachments.ts';
import { acceptTools, type RequestedTools } from './client-tools/requested-tools.ts';
import { checkMessageText } from './check-message.ts';
import { checkOutput } from './types/output-schema.ts';
import { initialSearchAttributes } from './temporal/search-attributes.ts';
import { showValue } from '../common/show-value.ts';
import { temporalFailure } from './temporal/temporal-failures.ts';
import type { TemporalLink } from './temporal/temporal.ts';
import type { StartOptions } from './types.ts';

const DEFAULT_TENANT = 'default';
const MAX_FAIRNESS_KEY_BYTES = 64;

export interface AgentSource {
  /** The place where agents are looked for, for error messages. */
  directory: string;
  load(): Promise<ReadonlyMap<string, Agent>>;
}

export interface StartParts {
  store: Pick<Store, 'conversations' | 'messages' | 'forks' | 'media'>;
  temporal: Pick<TemporalLink, 'address' | 'client' | 'keys'>;
  agents: AgentSource;
  taskQueue: string;
}

const CONVERSATION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** What programs of ours may say besides. */
export interface StartRequest extends Omit<StartOptions, 'output' | 'clientTools'> {
  output?: JsonObject;
  clientTools?: RequestedTools;
  /** The schedule that starts the conversation. */
  scheduledBy?: ScheduledBy;
  /** The conversation is that of a sub-agent. */
  parent?: Parent;
  /** What is put aside for it, in place of these parts of its agent's budget. */
  share?: Share;
  /** The conversation is a fork. */
  fork?: NewFork;
  /** The conversation is imported; `complete` makes its row one that is used. False: it was one before. */
  imported?: { from: ImportedFrom; complete: () => Promise<boolean> };
  /** A conversation that exists must be the user's, too, and not only the tenant's. */
  ofUser?: true;
  /** Ids of the first message and its turn; generated when absent. */
  firstMessage?: { messageId: string; turnId: string };
}

/** Starts the conversation's workflow. Returns its id and the turn of its first message; no turn when it exists already. */
export async function startConversation(parts: StartParts, options: StartRequest): Promise<{ conversationId: string; turnId?: string }> {
  if (options.message !== undefined) checkMessageText(options.message, options.attachments);
  const attachments = await readAttachments(options.attachments);
  if (options.conversationId !== undefined) checkChosenId(options.conversationId, options);
  await checkOutputOf(options);
  const agent = await findAgent(parts.agents, options.agent);
  const clientTools = await toolsOf(agent, options);
  const client = await parts.temporal.client();
  const input = withRestOf(await ownerOfShared(parts, options), makeInput(agent, options));
  const { conversationId } = input;

  // The row and the text must exist before the workflow: its first activity reads them.
  const status = initialStatus(input);
  const isNew = await create(parts.store, status, options);
  if (options.conversationId !== undefined) await refuseForeign(parts.store, input, options);
  if (input.firstMessage) await putMessage(parts.store, input.firstMessage.messageId, { ...options, conversationId, attachments, clientTools });
  try {
    if (await startWorkflow(client, parts, input, agent)) return { conversationId, ...(input.firstMessage && { turnId: input.firstMessage.turnId }) };
    if (isNew && (await isForeign(client, conversationId, parts.taskQueue))) throw failure('CONVERSATION_EXISTS', { conversationId });
    return { conversationId };
  } catch (error) {
    // A conversation that did not start must not be listed as open. If it did start, its workflow corrects this with its next status. One that existed before may
    // run, and wait for a person. Who gave a task to a sub-agent tries again, and would take a closed one for one that has ended.
    if (isNew && !options.parent) await parts.store.conversations.saveStatus({ ...status, state: 'closed' }, []);
    throw await temporalFailure(error, { address: parts.temporal.address, conversationId, whyMissing: async () => 'closed' });
  }
}

async function create({ conversations, forks }: StartParts['store'], status: ConversationStatus, { fork, imported }: StartRequest): Promise<boolean> {
  if (imported) return imported.complete();
  if (!fork) return conversations.create({ ...status, status });
  const { agentId, userId, tenantId, forkedFrom } = status;
  return forks.create({ ...status, status }, fork, [
    { type: 'conversation.started', data: { agentId, userId, tenantId, ...(forkedFrom && { forkedFrom: { ...forkedFrom } }) } },
  ]);
}

interface FirstMessage extends Pick<StartRequest, 'message' | 'output'> {
  conversationId: string;
  attachments: AttachmentContent[];
  clientTools: ClientTools | undefined;
}

/** A repetition finds the message with its attachments. */
async function putMessage(
  store: StartParts['store'],
  messageId: string,
  { conversationId, message = '', output, attachments, clientTools }: FirstMessage,
): Promise<void> {
  const isKept = attachments.length > 0 && (await store.messages.read(conversationId, messageId)) !== undefined;
  const kept = isKept ? [] : await keepAttachments(store, conversationId, attachments);
  await store.messages.put(conversationId, messageId, message, { output, attachments: kept, clientTools });
}

async function toolsOf(agent: Agent, { clientTools, message, tenant = DEFAULT_TENANT, unattended }: StartRequest): Promise<ClientTools | undefined> {
  if (clientTools && message === undefined) {
    throw failure('CLIENT_TOOLS_REFUSED', { problem: 'there is no message that they belong to', fix: 'Declare them with the first message' });
  }
  return acceptTools(agent, clientTools, { tenant, unattended });
}

async function checkOutputOf({ output, message, tenant = DEFAULT_TENANT }: StartRequest): Promise<void> {
  if (!output) return;
  if (message === undefined) throw failure('OUTPUT_INVALID', { problem: 'there is no message that it belongs to', fix: 'Give a message, or leave it out' });
  await checkOutput(tenant, output);
}

/** Returns false when a workflow with this id exists already. */
async function startWorkflow(client: Client, { temporal, taskQueue }: StartParts, input: ConversationInput, { priority }: Agent): Promise<boolean> {
  try {
    await client.workflow.start(CONVERSATION_WORKFLOW, {
      workflowId: input.conversationId,
      taskQueue,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      priority: { fairnessKey: fairnessKeyOf(input.tenantId), ...temporalPriority(priority) },
      typedSearchAttributes: initialSearchAttributes(input, {
        state: hasWork(input) ? 'running' : 'idle',
        encrypted: temporal.keys.first !== undefined,
      }),
      staticSummary: summaryLine(summaryOf(input)),
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** Where the server keeps to fairness, tasks of one tenant do not delay those of another. Temporal takes keys of 64 bytes. */
function fairnessKeyOf(tenantId: string): string {
  return Buffer.byteLength(tenantId) <= MAX_FAIRNESS_KEY_BYTES ? tenantId : createHash('sha256').update(tenantId).digest('hex');
}

export async function findAgent(source: AgentSource, id: string): Promise<Agent> {
  return agentIn(await source.load(), id, source);
}

/** @throws AGENT_NOT_FOUND for the first that does not exist */
export async function checkAgents(source: AgentSource, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const agents = await source.load();
  for (const id of ids) agentIn(agents, id, source);
}

function agentIn(agents: ReadonlyMap<string, Agent>, id: string, { directory }: Pick<AgentSource, 'directory'>): Agent {
  const agent = agents.get(id);
  if (agent) return agent;
  throw failure('AGENT_NOT_FOUND', { agent: id, known: [...agents.keys()].toSorted().join(', ') || 'none', directory });
}

/** The conversation of a schedule's run has an id that can be guessed: who took it beforehand would keep the run, also of another tenant, from having one. */
function checkChosenId(conversationId: string, { scheduledBy, imported }: StartRequest): void {
  checkId(conversationId);
  if (!isScheduledId(conversationId) || scheduledBy || imported) return;
  throw failure('INVALID_ARGUMENT', { what: 'conversationId', problem: `${showValue(conversationId)} is an id for runs of schedules`, fix: 'Choose another' });
}

/** The id becomes part of the names of a container and a volume. */
export function checkId(conversationId: unknown): void {
  if (typeof conversationId === 'string' && conversationId.length <= 128 && CONVERSATION_ID.test(conversationId)) return;
  const fix = 'Write 1 to 128 letters, digits, ".", "_" and "-", beginning with a letter or digit';
  throw failure('INVALID_ARGUMENT', { what: 'conversationId', problem: `${showValue(conversationId)} cannot be used`, fix });
}

/** Whether the workflow belongs to another installation that uses the same Temporal namespace. */
async function isForeign(client: Client, conversationId: string, taskQueue: string): Promise<boolean> {
  const described = await client.workflow.getHandle(conversationId).describe();
  return described.taskQueue !== taskQueue;
}

/** @throws CONVERSATION_EXISTS when the id is taken by a conversation of another tenant */
async function refuseForeign(store: StartParts['store'], { conversationId, tenantId, userId }: ConversationInput, { ofUser }: StartRequest): Promise<void> {
  const row = await store.conversations.get(conversationId);
  // It exists by now. A caller that sees only its own tenant does not find another's.
  if (row?.tenantId !== tenantId || (ofUser && row.userId !== userId)) throw failure('CONVERSATION_EXISTS', { conversationId });
}

function makeInput(agent: Agent, options: StartRequest): ConversationInput {
  const limits = limitsOf(agent);
  return {
    conversationId: options.conversationId ?? makeId('conv', Date.now(), Math.random),
    agentId: agent.id,
    userId: options.user,
    tenantId: options.tenant ?? DEFAULT_TENANT,
    limits: { ...limits, ...within(limits.budget, options.share), ...(options.unattended && { unattended: true }) },
    ...(options.parent && { parent: options.parent }),
    ...(options.fork && { fork: inputOf(options.fork) }),
    ...(options.imported && { importedFrom: options.imported.from }),
    ...(options.scheduledBy && { scheduledBy: options.scheduledBy }),
    ...(options.closeWhenDone && { closeWhenDone: true }),
    ...(options.message !== undefined && { firstMessage: firstMessageOf(options) }),
  };
}

/** The agent of the conversation whose sandbox a sub-agent shares. */
async function ownerOfShared({ store, agents }: StartParts, { parent }: StartRequest): Promise<Agent | undefined> {
  const sandbox = parent?.sandbox;
  const owner = sandbox && 'conversationId' in sandbox ? await store.conversations.get(sandbox.conversationId) : undefined;
  return owner && (await agents.load()).get(owner.agentId);
}

/** A sub-agent that is idle freezes the sandbox that it shares when the agent says to which that belongs. */
function withRestOf(owner: Agent | undefined, input: ConversationInput): ConversationInput {
  return owner ? { ...input, limits: { ...input.limits, freezeAfterMs: limitsOf(owner).freezeAfterMs } } : input;
}

function inputOf({ conversationId, transcriptSeq, files }: NewFork): ForkInput {
  return { conversationId, transcriptSeq, files };
}

function firstMessageOf({ firstMessage, output }: StartRequest): QueuedMessage {
  const newId = (prefix: 'turn' | 'msg') => makeId(prefix, Date.now(), Math.random);
  return { ...(firstMessage ?? { messageId: newId('msg'), turnId: newId('turn') }), ...(output && { output: true }) };
}

/** The budget of an agent, of which a sub-agent may use no more than its share. */
function within(budget: Budget, { steps: taskSteps, ...share }: Share = {}): Pick<AgentLimits, 'budget' | 'taskSteps'> {
  const kinds = Object.keys(share) as (keyof typeof share)[];
  const lower = Object.fromEntries(kinds.map((kind) => [kind, Math.min(share[kind] ?? Infinity, budget[kind] ?? Infinity)]));
  return { budget: { ...budget, ...lower }, ...(taskSteps !== undefined && { taskSteps }) };
}

function summaryOf({ agentId, userId, scheduledBy, fork, importedFrom }: ConversationInput): string {
  const origin = fork ? `, fork of ${fork.conversationId}` : importedFrom ? `, imported from ${importedFrom.conversationId}` : '';
  const who = `${agentId} for ${userId}${origin}`;
  return scheduledBy ? `${who}, by schedule ${scheduledBy.scheduleId} of ${scheduledBy.at}` : who;
}

/** A fork has its files to get. */
function hasWork({ firstMessage, fork }: ConversationInput): boolean {
  return firstMessage !== undefined || fork !== undefined;
}

/** How a conversation will begin. */
export function firstStatus(agent: Agent, options: StartRequest): ConversationStatus {
  return initialStatus(makeInput(agent, options));
}

function initialStatus(input: ConversationInput): ConversationStatus {
  const { conversationId, agentId, userId, tenantId, firstMessage, limits, scheduledBy, parent, fork, importedFrom } = input;
  return {
    conversationId,
    agentId,
    userId,
    tenantId,
    state: hasWork(input) ? 'running' : 'idle',
    queued: firstMessage ? 1 : 0,
    ...(limits.unattended && { unattended: true }),
    ...(scheduledBy && { scheduledBy }),
    ...(parent && { parent }),
    ...(fork && { forkedFrom: { conversationId: fork.conversationId, transcriptSeq: fork.transcriptSeq } }),
    ...(importedFrom && { importedFrom }),
    turnsUsed: 0,
    stepsUsed: 0,
    tokensUsed: 0,
    workedMs: 0,
    sandboxTier: 'none',
    pendingApprovals: [],
    runningCalls: [],
  };
}
