import { Client } from 'pg';
import type { ConversationState } from '../../src/contracts/conversation.ts';
import type { SandboxOptions } from '../../src/contracts/agent.ts';
import { createLogger } from '../../src/platform/log.ts';
import type { Store } from '../../src/store/store.ts';
import { startRestingIdle } from '../../src/worker/rest-idle.ts';
import { newConversation, useTestStore } from '../store/support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
let count = 0;

/** A sandbox that runs on this host, and of which the database says that it was last used so many seconds ago. */
async function running({ idle, owner, options = {}, hostId = 'here' }: { idle: number; owner?: ConversationState; options?: SandboxOptions; hostId?: string }) {
  const sandboxId = `sbx_idle_${(count += 1)}`;
  const conversationId = owner && (await newConversation(store, { state: owner }));
  const names = { hostId, containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  const tenant = { tenantId: 'default', ...(conversationId !== undefined && { conversationId }) };
  const made = await store.sandboxes.ensure({ sandboxId, ...tenant, state: 'creating', options: { ...options }, ...names });
  await store.sandboxes.change(sandboxId, made.generation, { state: 'running' });
  await used(sandboxId, idle);
  return { sandboxId, conversationId };
}

async function used(sandboxId: string, agoS: number): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query("update sandboxes set last_used_at = clock_timestamp() - $2 * interval '1 second' where sandbox_id = $1", [sandboxId, agoS]);
  await client.end();
}

async function become(sandboxId: string, state: 'running' | 'frozen'): Promise<void> {
  const row = await store.sandboxes.get(sandboxId);
  await store.sandboxes.change(sandboxId, row!.generation, { state });
}

async function until(question: () => boolean): Promise<void> {
  while (!question()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Which sandboxes a round tries to freeze, up to this one. */
async function triedUpTo(last: string): Promise<string[]> {
  const tried: string[] = [];
  const freeze = async (sandboxId: string) => {
    tried.push(sandboxId);
    return 'running' as const;
  };
  const resting = startRestingIdle({ store, sandboxes: { hostId: 'here', freeze }, log }, 5);
  await until(() => tried.includes(last));
  await resting.stop();
  return tried;
}

test('a sandbox that was left awake is frozen, long after its conversation would have done that, and no other one', async () => {
  const left = [await running({ idle: 100, owner: 'idle' }), await running({ idle: 100, owner: 'awaiting-approval' })];
  await running({ idle: 80, owner: 'idle' });
  await running({ idle: 100, owner: 'running' });
  await running({ idle: 100, owner: 'paused' });
  await running({ idle: 100, owner: 'closed' });
  await running({ idle: 100 });
  await running({ idle: 100, owner: 'idle', hostId: 'there' });
  await running({ idle: 100, owner: 'idle', options: { freezeAfterMs: 0 } });
  await running({ idle: 100, owner: 'idle', options: { keepalive: true } });
  await running({ idle: 100, owner: 'idle', options: { keepalive: 20_000 } });
  left.push(await running({ idle: 100, owner: 'idle', options: { freezeAfterMs: 1, keepalive: 20_000 } }));
  const ids = left.map(({ sandboxId }) => sandboxId);
  expect((await triedUpTo(ids.at(-1)!)).toSorted()).toEqual(ids.toSorted());
  for (const sandboxId of ids) await store.sandboxes.remove(sandboxId);
});

test('one in which another process works is tried again ever later, until it has rested', async () => {
  const { sandboxId } = await running({ idle: 700, owner: 'idle' });
  let tried = 0;
  let rounds = 0;
  const list: typeof store.sandboxes.list = async (filter) => {
    rounds += 1;
    return store.sandboxes.list(filter);
  };
  const freeze = async (id: string) => {
    if (id === sandboxId) tried += 1;
    return 'running' as const;
  };
  const parts = { store: { ...store, sandboxes: { ...store.sandboxes, list } }, sandboxes: { hostId: 'here', freeze }, log };
  const someRounds = async (most = rounds + 4) => until(() => rounds >= most);
  await using resting = Object.assign(startRestingIdle(parts, 5), { [Symbol.asyncDispose]: () => resting.stop() });
  // After 90 s, 150 s, 270 s and 510 s; the next one would be after 990 s.
  await until(() => tried === 4);
  await someRounds();
  expect(tried).toBe(4);
  await become(sandboxId, 'frozen');
  await someRounds();
  await become(sandboxId, 'running');
  await used(sandboxId, 100);
  await until(() => tried === 5);
  await store.sandboxes.remove(sandboxId);
});
