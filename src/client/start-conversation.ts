import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { limitsOf } from '../agents/limits-of.ts';
import type { Agent } from '../contracts/agent.ts';
import { CONVERSATION_WORKFLOW, type ConversationInput, type ConversationStatus } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { makeId } from '../contracts/ids.ts';
import type { Store } from '../store/store.ts';
import { checkMessage } from './check-message.ts';
import { initialSearchAttributes } from './search-attributes.ts';
import type { TemporalLink } from './temporal.ts';
import type { StartOptions } from './types.ts';

export interface AgentSource {
  /** Where agents are looked for, in words. */
  directory: string;
  load(): Promise<Map<string, Agent>>;
}

interface StartParts {
  store: Store;
  temporal: TemporalLink;
  agents: AgentSource;
  taskQueue: string;
}

/** Starts the conversation's workflow; gives its id and the turn of its first message. */
export async function startConversation(parts: StartParts, options: StartOptions): Promise<{ conversationId: string; turnId?: string }> {
  if (options.message !== undefined) checkMessage(options.message);
  const agent = await findAgent(parts.agents, options.agent);
  const client = await parts.temporal.client();
  const input = makeInput(agent, options);
  const { conversationId } = input;

  // Row and text are there before the workflow: its first activity reads them.
  const status = initialStatus(input);
  await parts.store.conversations.create({ ...status, status });
  if (input.firstMessage) await parts.store.messages.put(conversationId, input.firstMessage.messageId, options.message ?? '');
  try {
    await client.workflow.start(CONVERSATION_WORKFLOW, {
      workflowId: conversationId,
      taskQueue: parts.taskQueue,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      typedSearchAttributes: initialSearchAttributes(input, status.state === 'running' ? 'running' : 'idle'),
      staticSummary: `${agent.id} for ${input.userId}`,
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return { conversationId };
    // A conversation that never began must not look alive; if it did begin after all, its own next status corrects this.
    await parts.store.conversations.saveStatus({ ...status, state: 'closed' }, []);
    throw error;
  }
  return { conversationId, ...(input.firstMessage && { turnId: input.firstMessage.turnId }) };
}

async function findAgent(source: AgentSource, id: string): Promise<Agent> {
  const agents = await source.load();
  const agent = agents.get(id);
  if (agent) return agent;
  throw failure('AGENT_NOT_FOUND', { agent: id, known: [...agents.keys()].toSorted().join(', ') || 'none', directory: source.directory });
}

function makeInput(agent: Agent, options: StartOptions): ConversationInput {
  const newId = (prefix: 'conv' | 'turn' | 'msg') => makeId(prefix, Date.now(), Math.random);
  return {
    conversationId: options.conversationId ?? newId('conv'),
    agentId: agent.id,
    userId: options.user,
    tenantId: options.tenant ?? 'default',
    limits: { ...limitsOf(agent), ...(options.unattended && { unattended: true }) },
    ...(options.message !== undefined && { firstMessage: { messageId: newId('msg'), turnId: newId('turn') } }),
  };
}

function initialStatus(input: ConversationInput): ConversationStatus {
  const { conversationId, agentId, userId, tenantId, firstMessage, limits } = input;
  return {
    conversationId,
    agentId,
    userId,
    tenantId,
    state: firstMessage ? 'running' : 'idle',
    queued: firstMessage ? 1 : 0,
    ...(limits.unattended && { unattended: true }),
    turnsUsed: 0,
    stepsUsed: 0,
    tokensUsed: 0,
    workedMs: 0,
    sandboxTier: 'none',
    pendingApprovals: [],
    runningCalls: [],
  };
}
