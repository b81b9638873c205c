import { MockActivityEnvironment } from '@temporalio/testing';
import { createRewindConversation } from '../../src/activities/checkpoints/rewind-conversation.ts';
import type { RewindConversationArgs, RewindResult } from '../../src/contracts/checkpoints/checkpoint.ts';
import { sandboxIdOf } from '../../src/contracts/ids.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import type { Store } from '../../src/store/store.ts';
import type { ConversationSandboxes } from '../../src/tool-calls/run/sandbox-of-conversation.ts';
import { begin } from '../store/sub-agents.ts';
import { newConversation, useTestStore } from '../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const LOST = 'The sandbox was started anew.';
const made = (number: number) => ({ number, at: new Date(Date.UTC(2027, 0, number)).toISOString(), files: 0, bytes: 0, changed: 0, addedBytes: 0, leftOut: 0 });

async function rewind(conversationId: string, checkpointId: string, rewindId: string, number: number): Promise<RewindResult> {
  const handle = {
    createCheckpoint: async () => ({ made: true, checkpoint: made(number), oldest: 1 }),
    restoreCheckpoint: async () => ({ written: 0, removed: 0, failed: 0 }),
  };
  const opened = { open: async () => ({ handle, held: false }) } as unknown as ConversationSandboxes;
  const activity = createRewindConversation({ store, registry: createRegistry([]), opened });
  const args = { conversationId, agentId: 'a', tenantId: 'default', checkpointId, rewindId };
  return new MockActivityEnvironment().run<[RewindConversationArgs], RewindResult, typeof activity>(activity, args);
}

test('what the sandbox has lost since a checkpoint is told behind a rewind to it, once for each rewind that takes it back', async () => {
  const conversationId = await begin(store, await newConversation(store));
  const note = (key: string) => store.transcript.append(conversationId, 'turn_1', undefined, key, { role: 'note', text: key });
  const notes = async () => (await store.transcript.read(conversationId)).flatMap(({ entry }) => (entry.role === 'note' ? entry.text : []));
  const sandboxId = sandboxIdOf(conversationId);
  const names = { hostId: 'host', containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state: 'creating', options: {}, ...names });
  await store.sandboxes.change(sandboxId, 1, { state: 'running' });
  await note('one');
  const first = await store.checkpoints.add(conversationId, { ...made(1), turnId: 'turn_1' }, 1);
  await note('two');
  await store.sandboxes.change(sandboxId, 2, { state: 'lost', lost: 'its container is gone' });
  await store.sandboxes.change(sandboxId, 3, { state: 'running', lost: LOST });
  const all = await notes();
  expect(all).toEqual(['one', 'two', LOST]);
  const { before } = await rewind(conversationId, first, 'rewind_1', 2);
  expect(await notes()).toEqual(['one', LOST]);
  await rewind(conversationId, first, 'rewind_1', 2);
  expect(await notes()).toEqual(['one', LOST]);
  await rewind(conversationId, before, 'rewind_2', 3);
  expect(await notes()).toEqual(all);
});
