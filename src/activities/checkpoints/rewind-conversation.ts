import { createHash } from 'node:crypto';
import { KEPT_CHECKPOINTS, type RewindConversationArgs, type RewindResult } from '../../contracts/checkpoints/checkpoint.ts';
import { failure } from '../../contracts/errors.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { KeptCheckpoint } from '../../store/conversation/checkpoints.ts';
import type { Store } from '../../store/store.ts';
import type { ConversationSandboxes } from '../../tool-calls/run/sandbox-of-conversation.ts';
import { whileBeating } from './while-beating.ts';

/** Plugins whose tools work in the sandbox alone. What reaches further from there is in the events of its connections. */
const INSIDE = new Set(['shell', 'code', 'files', 'plan', 'attachments']);
/** The checkpoint to go back to must outlive the one of the state before. */
const KEEP = KEPT_CHECKPOINTS + 2;
const TOLD_HOSTS = 50;

interface RewindParts {
  store: Store;
  registry: Registry;
  opened: ConversationSandboxes;
}

/**
 * Makes files and transcript as they were at a checkpoint. Every step is done once however often this is repeated: the state before has a checkpoint of the
 * rewind's own, the sandbox knows the rewind that it did last, and the transcript is marked together with the event.
 */
export function createRewindConversation(parts: RewindParts): (args: RewindConversationArgs) => Promise<RewindResult> {
  const { store } = parts;
  return async (args) => {
    const { conversationId, checkpointId, rewindId } = args;
    const known = await store.checkpoints.kept(conversationId);
    const target = known.find((checkpoint) => checkpoint.checkpointId === checkpointId);
    const row = await store.sandboxes.ofConversation(conversationId);
    if (!target || !row || row.state === 'destroyed') throw failure('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId, conversationId });
    const begun = known.find(({ rewindId: of }) => of === rewindId);
    if (!begun) await checkConfirmed(parts, args, target);
    const { handle, lost } = await parts.opened.open(args);
    return whileBeating(async () => {
      const before = begun?.checkpointId ?? (await keepBefore(parts, args, handle, target));
      const restored = await handle.restoreCheckpoint(target, { key: rewindId, keep: KEEP });
      const { written, removed, failed } = restored;
      const data = { checkpointId, before, transcriptSeq: target.transcriptSeq, written, removed, failed };
      await store.checkpoints.rewind(conversationId, target, rewindId, data);
      // The rewind has hidden the earlier note about this loss, and the loss is still a fact.
      const text = (await store.checkpoints.lossSince(conversationId, target)) ?? lost;
      if (text !== undefined) await store.transcript.append(conversationId, target.turnId, undefined, `lost/${rewindId}`, { role: 'note', text });
      return { checkpointId, before, written, removed, failed };
    });
  };
}

async function keepBefore(
  { store }: RewindParts,
  { conversationId, rewindId }: RewindConversationArgs,
  handle: WorkerHandle,
  { turnId }: KeptCheckpoint,
): Promise<string> {
  const { checkpoint, oldest } = await handle.createCheckpoint({ key: `${rewindId}.before`, keep: KEEP });
  return store.checkpoints.add(conversationId, { ...checkpoint, turnId, rewindId }, oldest);
}

/** @throws REWIND_UNCONFIRMED with what the rewind cannot undo, unless the caller confirms exactly that */
async function checkConfirmed({ store, registry }: RewindParts, { conversationId, confirm }: RewindConversationArgs, target: KeptCheckpoint): Promise<void> {
  const { tools, hosts } = await store.checkpoints.effects(conversationId, target);
  const outside = tools.filter(({ tool }) => !INSIDE.has(tool.split(':')[0] ?? '') && registry.get(tool)?.annotations.readOnlyHint !== true);
  const lines = [
    ...outside.map(({ tool, calls }) => `${visibleLine(tool)} ran ${times(calls)}`),
    ...hosts.slice(0, TOLD_HOSTS).map(({ host, connections }) => `the sandbox was connected to ${visibleLine(host)} ${times(connections)}`),
    ...(hosts.length > TOLD_HOSTS ? [`and to ${hosts.length - TOLD_HOSTS} more hosts`] : []),
  ];
  if (lines.length === 0) return;
  const digest = createHash('sha256')
    .update(JSON.stringify([target.checkpointId, outside, hosts]))
    .digest('hex')
    .slice(0, 16);
  if (confirm !== digest) throw failure('REWIND_UNCONFIRMED', { conversationId, effects: lines.join('; '), confirm: digest });
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
