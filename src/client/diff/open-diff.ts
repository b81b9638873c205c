import type { CompareMessage, DiffEnd, DiffMoment, DiffOptions, FileChange } from '../../contracts/checkpoints/diff.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import { answerIn } from '../../hosts/client/exchanges.ts';
import type { HostClient } from '../../hosts/client/host-client.ts';
import { targetOfRow } from '../../hosts/client/target-of.ts';
import type { KeptCheckpoint } from '../../store/conversation/checkpoints.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { ConversationRow, Store } from '../../store/store.ts';

export type DiffPart = { change: FileChange } | { patch: Buffer } | { end: DiffEnd };

/** A comparison that is under way. */
export interface OpenDiff {
  from: DiffMoment;
  /** Undefined: the files as they are now. */
  to: DiffMoment | undefined;
  woken: boolean;
  /** Changes, pieces of the patch between them, and the end. A caller that does not read all of them aborts the signal. */
  parts: AsyncGenerator<DiffPart>;
}

interface DiffParts {
  store: Pick<Store, 'checkpoints' | 'sandboxes'>;
  hosts: HostClient;
}

/**
 * Begins to compare. It has succeeded once its first part has come.
 * @throws SANDBOX_ABSENT, SANDBOX_DESTROYED, CHECKPOINTS_ABSENT, CHECKPOINT_NOT_FOUND, and the errors of a visit to a sandbox
 */
export async function openDiff(
  { store, hosts }: DiffParts,
  { conversationId, tenantId }: Pick<ConversationRow, 'conversationId' | 'tenantId'>,
  { from, to, paths, patch = false }: DiffOptions,
  signal: AbortSignal,
): Promise<OpenDiff> {
  const row = await sandboxOf(store, conversationId);
  const kept = await store.checkpoints.kept(conversationId);
  const start = from === undefined ? newestOf(kept, conversationId) : find(kept, conversationId, from);
  const end = to === undefined ? undefined : find(kept, conversationId, to);
  const moments = { from: momentOf(start), to: end && momentOf(end) };
  if (end && end.checkpointId === start.checkpointId) return { ...moments, woken: false, parts: nothing(end) };
  const call = { do: 'checkpoints.compare', from: placeOf(start), ...(end && { to: placeOf(end) }), ...(paths && { paths }), patch } as const;
  const opened = await hosts.open(targetOfRow(row, { conversationId, tenantId }), call, signal);
  opened.sender.end();
  const checkpoints = [start, end].flatMap((found) => (found ? [found.checkpointId] : [])).join(' or ');
  return { ...moments, woken: row.state !== 'running', parts: partsOf(opened.messages, { conversationId, checkpoints }) };
}

async function sandboxOf(store: Pick<Store, 'sandboxes'>, conversationId: string): Promise<SandboxRow> {
  const row = await store.sandboxes.ofConversation(conversationId);
  if (!row) throw failure('SANDBOX_ABSENT', { conversationId });
  if (row.state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId: row.sandboxId });
  return row;
}

async function* partsOf(
  messages: Awaited<ReturnType<HostClient['open']>>['messages'],
  { conversationId, checkpoints }: { conversationId: string; checkpoints: string },
): AsyncGenerator<DiffPart> {
  try {
    answerIn(await messages.next());
    for await (const message of messages) yield message.kind === 'data' ? { patch: message.bytes } : (message.value as unknown as CompareMessage);
  } catch (error) {
    // The worker knows its number alone.
    throw isFailure(error, 'CHECKPOINT_NOT_FOUND') ? failure('CHECKPOINT_NOT_FOUND', { checkpoint: checkpoints, conversationId }, error) : error;
  }
}

async function* nothing({ at }: KeptCheckpoint): AsyncGenerator<DiffPart> {
  yield { end: { at, changed: 0, linesAdded: 0, linesRemoved: 0, leftOut: 0, unreadable: 0, notListed: 0 } };
}

function newestOf(kept: KeptCheckpoint[], conversationId: string): KeptCheckpoint {
  const newest = kept.at(-1);
  if (!newest) throw failure('CHECKPOINTS_ABSENT', { conversationId });
  return newest;
}

function find(kept: KeptCheckpoint[], conversationId: string, id: string): KeptCheckpoint {
  const found = kept.find(({ checkpointId }) => checkpointId === id);
  if (!found) throw failure('CHECKPOINT_NOT_FOUND', { checkpoint: id, conversationId });
  return found;
}

function momentOf({ checkpointId, at }: KeptCheckpoint): DiffMoment {
  return { checkpointId, at };
}

function placeOf({ number, at }: KeptCheckpoint) {
  return { number, at };
}
