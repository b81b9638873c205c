import { KEPT_CHECKPOINTS, type KeepCheckpointArgs } from '../../contracts/checkpoints/checkpoint.ts';
import { isShared } from '../../contracts/sub-agents/sandbox-use.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';
import { onceEach } from '../../tool-calls/results/once-each.ts';
import type { ConversationSandboxes } from '../../tool-calls/run/sandbox-of-conversation.ts';
import { whileBeating } from './while-beating.ts';

/**
 * Makes a checkpoint of the conversation's sandbox, unless nothing has changed since the newest one. It wakes no sandbox: what has changed in one that rests is
 * in the next checkpoint. One that cannot be made is an event, and the turn goes on.
 */
export function createKeepCheckpoint({ store, opened }: { store: Pick<Store, 'checkpoints' | 'events'>; opened: ConversationSandboxes }) {
  return async function keepCheckpoint({ turnId, stepId, ...conversation }: KeepCheckpointArgs): Promise<void> {
    const { conversationId } = conversation;
    try {
      // A sandbox that is shared has the checkpoints of its owner.
      if (isShared(await opened.useOf(conversationId))) return;
      const handle = await opened.ifAwake(conversation);
      if (!handle) return;
      const key = stepId ?? turnId;
      const { made, checkpoint, oldest } = await whileBeating(() => handle.createCheckpoint({ key, keep: KEPT_CHECKPOINTS }));
      if (made) await store.checkpoints.add(conversationId, { ...checkpoint, turnId, ...(stepId !== undefined && { stepId }) }, oldest);
      else await store.checkpoints.unchangedSince(conversationId, checkpoint);
    } catch (error) {
      if (!isFailure(error) || error.retryable) throw error;
      await store.events.append(conversationId, onceEach([{ type: 'checkpoint.failed', turnId, data: { problem: error.message } }]));
    }
  };
}
