import { failure } from '../contracts/errors.ts';
import { MAX_FORK_PARTS, type ForkOptions } from '../contracts/forks/fork.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { planFiles } from '../store/conversation/fork-files.ts';
import { placeOf, type ForkPlace, type Outline, type PlaceRequest } from '../store/conversation/fork-places.ts';
import type { NewFork } from '../store/conversation/forks.ts';
import type { ConversationRow, Store } from '../store/store.ts';
import { startConversation, type StartParts, type StartRequest } from './start-conversation.ts';

export interface ForkParts extends StartParts {
  store: Pick<Store, 'conversations' | 'messages' | 'forks' | 'media' | 'sandboxes'>;
}
export type ForkRequest = ForkOptions & Pick<StartRequest, 'firstMessage' | 'ofUser'>;

/**
 * Starts a conversation that goes on from a place in another one. A conversation that exists with the id has to be a fork of the same one, and is the result then.
 * @throws FORK_REFUSED, FORK_FILES_UNKNOWN, CHECKPOINT_NOT_FOUND
 */
export async function forkConversation(parts: ForkParts, source: ConversationRow, options: ForkRequest): Promise<{ conversationId: string; turnId?: string }> {
  const { at: _, files: __, ...rest } = options;
  const fork = (await knownFork(parts.store, source, options.conversationId)) ?? (await newFork(parts.store, source, options));
  const { agentId: agent, userId: user, tenantId: tenant, status } = source;
  return startConversation(parts, { agent, user, tenant, ...(status.unattended && { unattended: true }), ...rest, fork });
}

/** @throws CONVERSATION_EXISTS when the id is taken by another conversation */
async function knownFork(
  { conversations, forks }: ForkParts['store'],
  source: ConversationRow,
  conversationId: string | undefined,
): Promise<NewFork | undefined> {
  if (typeof conversationId !== 'string') return undefined;
  const known = await forks.get(conversationId);
  if (known?.conversationId === source.conversationId) return { ...known, hidden: [], isShown: true };
  if (known ?? (await conversations.get(conversationId))) throw failure('CONVERSATION_EXISTS', { conversationId });
  return undefined;
}

async function newFork(store: ForkParts['store'], source: ConversationRow, { at, files = 'exact' }: ForkRequest): Promise<NewFork> {
  const { conversationId } = source;
  const { place, entries, checkpointId } = await findPlace(store, source, at);
  if ((await store.forks.parts(conversationId, place.transcriptSeq)) > MAX_FORK_PARTS) throw tooLong(conversationId);
  const fork = { conversationId, ...place, files, ...(files === 'exact' && checkpointId !== undefined && { checkpointId }) };
  await planFiles(store, fork);
  return { ...fork, isShown: entries.find(({ seq }) => seq === place.transcriptSeq)?.rewound !== true };
}

function tooLong(conversationId: string): Error {
  const problem = `the history up to there is in more than ${MAX_FORK_PARTS} conversations, each a fork of the one before`;
  return failure('FORK_REFUSED', { conversationId, problem, fix: 'Fork at an earlier place, or start a new conversation' });
}

/** @throws FORK_REFUSED */
export async function findPlace(
  { forks }: Pick<Store, 'forks'>,
  { conversationId, state, status }: ConversationRow,
  at: string | undefined,
): Promise<{ place: ForkPlace; entries: Outline[]; checkpointId?: string }> {
  const checkpoint = at === undefined ? undefined : (await forks.checkpoints(conversationId)).find(({ checkpointId }) => checkpointId === at);
  const entries = await forks.outline(conversationId);
  const rewinds = await forks.hiddenBefore(conversationId);
  const request: PlaceRequest = {
    conversationId,
    entries,
    rewinds,
    ...withoutUndefined({ at, checkpoint, runningTurn: state === 'closed' ? undefined : status.turnId }),
  };
  return { place: placeOf(request), entries, ...withoutUndefined({ checkpointId: checkpoint?.checkpointId }) };
}
