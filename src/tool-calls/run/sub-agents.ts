import type { EventData } from '../../contracts/events.ts';
import type { ConversationRow, NewEvent, Store } from '../../store/store.ts';
import { derivedId } from '../../platform/derived-id.ts';
import { MAX_AGENT_DEPTH, MAX_AGENTS_IN_TREE, type Parent, type ReportEndArgs, type Spent } from '../../contracts/sub-agent.ts';
import type { SubAgentCalls } from '../dependencies.ts';

const LIMITS = { most: MAX_AGENTS_IN_TREE - 1, levels: MAX_AGENT_DEPTH };

/** Asks for a place in the tree for the sub-agent of a call; false: the call has to wait. `path`: the conversations above the sub-agent, from the root. */
export async function askForPlace(parts: PlaceParts, callId: string, path: string[]): Promise<boolean> {
  const [rootId = ''] = path;
  const asking = { callId, rootId, askerId: path.at(-1) ?? '', subAgentId: subAgentId(callId), depth: path.length };
  const { has, others } = await parts.store.treePlaces.ask(asking, LIMITS);
  await tellOfPlaces(parts, others);
  return has;
}

/** Tells a parent of the end of its sub-agent, and gives that one's place in the tree to the next. A parent that has ended itself need not know. */
export async function tellOfEnd(parts: EndParts, { conversationId, parent, spent }: ReportEndArgs): Promise<void> {
  const { callId, path, sandbox } = parent;
  const { store, subAgents } = parts;
  await logEnd(store, conversationId, parent);
  // It may have made the sandbox that it shares, or woken it.
  const row = sandbox && 'conversationId' in sandbox ? await store.sandboxes.ofConversation(sandbox.conversationId) : undefined;
  await subAgents.tellParent(parent.conversationId, { callId, spent, ...(row?.state === 'running' && { sandboxRuns: true }) });
  await tellOfPlaces(parts, await store.treePlaces.give(path[0] ?? parent.conversationId, LIMITS));
}

/**
 * Notes the end of a sub-agent in the log of its parent, once, unless that is closed. Also its start: the worker that started it may have died, and the turn have
 * ended, before that was in the log.
 */
export async function logEnd(
  { conversations, toolCalls, events }: Pick<Store, 'conversations' | 'toolCalls' | 'events'>,
  conversationId: string,
  parent: Pick<Parent, 'conversationId' | 'callId'>,
): Promise<void> {
  const [row, above, call] = await Promise.all([conversations.get(conversationId), conversations.get(parent.conversationId), toolCalls.get(parent.callId)]);
  if (!row || !call || !above || above.state === 'closed') return;
  const { turnId, stepId } = call;
  const { agent } = call.arguments;
  await events.append(parent.conversationId, [
    startEvent({ turnId, stepId }, { callId: parent.callId, conversationId, agent: typeof agent === 'string' ? agent : row.agentId }),
    endEvent({ turnId, stepId }, row, parent.callId),
  ]);
}

type Place = Pick<NewEvent, 'turnId' | 'stepId'>;

/** For the log of the parent. */
export function startEvent(place: Place, data: EventData['agent.started']): NewEvent {
  return { ...place, type: 'agent.started', data: { ...data }, key: `agent.started/${data.callId}` };
}

/** For the log of the parent. `row`: of the sub-agent. */
export function endEvent(place: Place, row: ConversationRow, callId: string): NewEvent {
  const { outcome = 'cancelled' } = row.status.lastTurn ?? {};
  const { tokens, steps = 0 } = spentIn(row) ?? NOTHING;
  return { ...place, type: 'agent.ended', data: { callId, conversationId: row.conversationId, outcome, tokens, steps }, key: `agent.ended/${callId}` };
}

interface EndParts extends PlaceParts {
  store: PlaceParts['store'] & Pick<Store, 'sandboxes' | 'conversations' | 'toolCalls' | 'events'>;
}

export interface PlaceParts {
  store: Pick<Store, 'treePlaces'>;
  subAgents: Pick<SubAgentCalls, 'tellParent' | 'tellOfPlace'>;
}

async function tellOfPlaces({ store, subAgents }: PlaceParts, given: { callId: string; askerId: string }[]): Promise<void> {
  await Promise.all(given.map(({ callId, askerId }) => subAgents.tellOfPlace(askerId, callId)));
  await store.treePlaces.told(given.map(({ callId }) => callId));
}

export const NOTHING: Spent = { tokens: 0, steps: 0, workedMs: 0, costUsd: 0 };

/** Id of the conversation in which the sub-agent of a call works. */
export function subAgentId(callId: string): string {
  return derivedId('conv', ['sub-agent', callId]);
}

/** What a sub-agent has spent; undefined while it works. One that was never started has spent nothing. */
export async function spentBySubAgent(store: { conversations: Pick<Store['conversations'], 'get'> }, callId: string): Promise<Spent | undefined> {
  const row = await store.conversations.get(subAgentId(callId));
  return row ? spentIn(row) : NOTHING;
}

/** What the workflow has to know of a call's sub-agent when the call has its result. */
export async function subAgentOf(
  store: { conversations: Pick<Store['conversations'], 'get'> },
  callId: string,
): Promise<{ spent: Spent } | { started: string }> {
  const spent = await spentBySubAgent(store, callId);
  return spent ? { spent } : { started: subAgentId(callId) };
}

/** What a closed conversation has spent, with its own sub-agents. */
export function spentIn({ state, status }: ConversationRow): Spent | undefined {
  return state === 'closed' ? (status.spent ?? NOTHING) : undefined;
}
