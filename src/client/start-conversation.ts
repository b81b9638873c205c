import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { limitsOf } from '../definitions/agents/limits-of.ts';
import type { Agent } from '../contracts/agent.ts';
import { CONVERSATION_WORKFLOW, type ConversationInput, type ConversationStatus } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { summaryLine } from '../contracts/markdown.ts';
import { makeId } from '../contracts/ids.ts';
import type { ScheduledBy } from '../contracts/schedule.ts';
import type { Store } from '../store/store.ts';
import { checkMessageText } from './check-message.ts';
import { initialSearchAttributes } from './temporal/search-attributes.ts';
import { showValue } from '../common/show-value.ts';
import { temporalFailure } from './temporal/temporal-failures.ts';
import type { TemporalLink } from './temporal/temporal.ts';
import type { StartOptions } from './types.ts';

export interface AgentSource {
  /** The place where agents are looked for, for error messages. */
  directory: string;
  load(): Promise<ReadonlyMap<string, Agent>>;
}

export interface StartParts {
  store: Pick<Store, 'conversations' | 'messages'>;
  temporal: Pick<TemporalLink, 'address' | 'client' | 'keys'>;
  agents: AgentSource;
  taskQueue: string;
}

const CONVERSATION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** What programs of ours may say besides. */
export interface StartRequest extends StartOptions {
  /** The schedule that starts the conversation. */
  scheduledBy?: ScheduledBy;
  /** A conversation that exists must be the user's, too, and not only the tenant's. */
  ofUser?: true;
  /** Ids of the first message and its turn; generated when absent. */
  firstMessage?: { messageId: string; turnId: string };
}

/** Starts the conversation's workflow. Returns its id and the turn of its first message; no turn when it exists already. */
export async function startConversation(parts: StartParts, options: StartRequest): Promise<{ conversationId: string; turnId?: string }> {
  if (options.message !== undefined) checkMessageText(options.message);
  if (options.conversationId !== undefined) checkId(options.conversationId);
  const agent = await findAgent(parts.agents, options.agent);
  const client = await parts.temporal.client();
  const input = makeInput(agent, options);
  const { conversationId } = input;

  // The row and the text must exist before the workflow: its first activity reads them.
  const status = initialStatus(input);
  const isNew = await parts.store.conversations.create({ ...status, status });
  if (options.conversationId !== undefined) await refuseForeign(parts.store, input, options);
  if (input.firstMessage) await parts.store.messages.put(conversationId, input.firstMessage.messageId, options.message ?? '');
  try {
    if (await startWorkflow(client, parts, input)) return { conversationId, ...(input.firstMessage && { turnId: input.firstMessage.turnId }) };
    if (isNew && (await isForeign(client, conversationId, parts.taskQueue))) throw failure('CONVERSATION_EXISTS', { conversationId });
    return { conversationId };
  } catch (error) {
    // A conversation that did not start must not be listed as open. If it did start, its workflow corrects this with its next status.
    await parts.store.conversations.saveStatus({ ...status, state: 'closed' }, []);
    throw await temporalFailure(error, { address: parts.temporal.address, conversationId, isKnown: async () => true });
  }
}

/** Returns false when a workflow with this id exists already. */
async function startWorkflow(client: Client, { temporal, taskQueue }: StartParts, input: ConversationInput): Promise<boolean> {
  try {
    await client.workflow.start(CONVERSATION_WORKFLOW, {
      workflowId: input.conversationId,
      taskQueue,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      typedSearchAttributes: initialSearchAttributes(input, {
        state: input.firstMessage ? 'running' : 'idle',
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

export async function findAgent(source: AgentSource, id: string): Promise<Agent> {
  const agents = await source.load();
  const agent = agents.get(id);
  if (agent) return agent;
  throw failure('AGENT_NOT_FOUND', { agent: id, known: [...agents.keys()].toSorted().join(', ') || 'none', directory: source.directory });
}

/** The id becomes part of the names of a container and a volume. */
function checkId(conversationId: unknown): void {
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
  const newId = (prefix: 'conv' | 'turn' | 'msg') => makeId(prefix, Date.now(), Math.random);
  return {
    conversationId: options.conversationId ?? newId('conv'),
    agentId: agent.id,
    userId: options.user,
    tenantId: options.tenant ?? 'default',
    limits: { ...limitsOf(agent), ...(options.unattended && { unattended: true }) },
    ...(options.scheduledBy && { scheduledBy: options.scheduledBy }),
    ...(options.closeWhenDone && { closeWhenDone: true }),
    ...(options.message !== undefined && { firstMessage: options.firstMessage ?? { messageId: newId('msg'), turnId: newId('turn') } }),
  };
}

function summaryOf({ agentId, userId, scheduledBy }: ConversationInput): string {
  const who = `${agentId} for ${userId}`;
  return scheduledBy ? `${who}, by schedule ${scheduledBy.scheduleId} of ${scheduledBy.at}` : who;
}

function initialStatus(input: ConversationInput): ConversationStatus {
  const { conversationId, agentId, userId, tenantId, firstMessage, limits, scheduledBy } = input;
  return {
    conversationId,
    agentId,
    userId,
    tenantId,
    state: firstMessage ? 'running' : 'idle',
    queued: firstMessage ? 1 : 0,
    ...(limits.unattended && { unattended: true }),
    ...(scheduledBy && { scheduledBy }),
    turnsUsed: 0,
    stepsUsed: 0,
    tokensUsed: 0,
    workedMs: 0,
    sandboxTier: 'none',
    pendingApprovals: [],
    runningCalls: [],
  };
}
