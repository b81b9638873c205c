import type { Store } from '../../../src/store/store.ts';
import { subAgent } from '../sub-agents.ts';
import { newCall, newConversation, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const started = (callId: string) => [{ type: 'tool.started' as const, data: { callId, tool: 'shell:run' } }];

test('the files of a conversation change while a sub-agent runs a call in its sandbox, and each such call changes the mark', async () => {
  const root = await newConversation(store);
  const guest = await subAgent(store, [root], root);
  const apart = await subAgent(store, [root], undefined);
  const marks = [(await store.forks.activity(root)).mark];
  for (const { id, changes } of [
    { id: guest.id, changes: true },
    { id: apart.id, changes: false },
    { id: guest.id, changes: true },
    { id: root, changes: true },
  ]) {
    const call = await newCall(store, id);
    const claimed = await store.toolCalls.claim(call.callId, call.hash, started(call.callId));
    const during = await store.forks.activity(root);
    expect([id, during.isChanging]).toEqual([id, changes]);
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    await store.toolCalls.settle(call.callId, claimed.call.fence, { state: 'finished', content: [], isError: false }, []);
    const { isChanging, mark } = await store.forks.activity(root);
    expect([isChanging, mark !== marks.at(-1)]).toEqual([false, changes]);
    marks.push(mark);
  }
  // What works beside it is nothing to a sub-agent with a sandbox of its own.
  expect((await store.forks.activity(apart.id)).isChanging).toBe(false);
});
