import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const GIB = 2 ** 30;
const LOST_MS = 60_000;

/** A host that may promise so many GiB. */
async function host(gib: number): Promise<string> {
  const hostId = `host-${newId('sbx')}`;
  await store.hosts.beat(hostId, LOST_MS);
  await store.fleet.describe(hostId, { version: '1', runtimes: ['runc'], memoryBytes: 64 * GIB, allowedBytes: gib * GIB });
  return hostId;
}

async function make(hostId: string, conversationId: string, memoryMb = 1024): Promise<void> {
  const sandboxId = newId('sbx');
  const names = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state: 'creating', hostId, ...names, options: { memoryMb } });
}

test('a host for which others wait longer is one for which a new sandbox would have to wait, and its own place in the queue counts', async () => {
  const [awaited, small] = [await host(4), await host(1)];
  await make(awaited, newId('conv'), 2048);
  const [large, next] = [await newConversation(store), await newConversation(store)];
  const waits = { neededMb: 3072, host: awaited, promisedMb: 2048, allowedMb: 4096, ahead: 0 };
  await store.roomQueue.join({ waiter: large, conversationId: large, tenantId: 'default', waits });
  const named = async (conversationId: string) => {
    const all = await store.fleet.candidates({ sandboxId: newId('sbx'), conversationId }, LOST_MS);
    return Object.fromEntries(all.flatMap(({ hostId, ahead }) => (hostId === awaited || hostId === small ? [[hostId, ahead ?? 0]] : [])));
  };
  expect(await named(next)).toEqual({ [awaited]: 1, [small]: 0 });
  expect(await named(large)).toEqual({ [awaited]: 0, [small]: 0 });
  await expect(make(awaited, next)).rejects.toMatchObject({ code: 'HOST_FULL', values: { neededMb: 1024, ahead: 1 } });
  await make(small, next);
  await store.roomQueue.leave(large);
});
