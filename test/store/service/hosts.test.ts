import { Client } from 'pg';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../e2e/support.ts';
import { waitingForLocks } from '../../sandbox/lifecycle/support.ts';
import { newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

/** Longer than two statements take on a busy machine. */
const AFTER_MS = 1_500;
const names = () => ({ gone: `gone-${newId('sbx')}`, own: `own-${newId('sbx')}` });

/** The first host is heard of once, the second one until it has been there for long enough to give up the first. */
async function silent({ gone, own }: ReturnType<typeof names>): Promise<void> {
  await store.hosts.beat(gone, AFTER_MS);
  await until(async () => {
    await store.hosts.beat(own, AFTER_MS);
    return (await store.hosts.lostSince(gone, { hostId: own, lostAfterMs: AFTER_MS })) !== undefined;
  }, 'the host counts as lost');
}

async function sandboxOn(hostId: string) {
  const conversationId = await newConversation(store);
  const sandboxId = newId('sbx');
  const place = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}`, hostId, options: {} };
  const made = await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state: 'creating', ...place });
  return { conversationId, row: (await store.sandboxes.change(sandboxId, made.generation, { state: 'running', containerId: 'first' }))! };
}

async function change(own: string) {
  return { state: 'lost', filesLost: true, lost: 'its host is gone', hostId: own, fence: await store.sandboxes.drawFence(), volumeName: 'v-new' } as const;
}

test('a host that nobody has heard of is not lost, and neither is one that is heard of, or one to a host that was away itself', async () => {
  const { gone, own } = names();
  const by = { hostId: own, lostAfterMs: AFTER_MS };
  expect(await store.hosts.lostSince(gone, by)).toBeUndefined();
  await silent({ gone, own });
  expect(await store.hosts.lost(by)).toContain(gone);
  expect(await store.hosts.lostSince(gone, { ...by, hostId: 'never-heard-of' })).toBeUndefined();
  expect(await store.hosts.lost({ ...by, hostId: 'never-heard-of' })).toEqual([]);
  // From now on `own` is silent, too.
  await until(async () => (await store.hosts.lostSince(gone, by)) === undefined, 'the other host is silent as well');
  await store.hosts.beat(own, AFTER_MS);
  expect(await store.hosts.lostSince(gone, by)).toBeUndefined();
  await silent({ gone, own });
  await store.hosts.beat(gone, AFTER_MS);
  expect(await store.hosts.lostSince(gone, by)).toBeUndefined();
  expect(await store.hosts.lost(by)).not.toContain(gone);
});

test('a sandbox is taken over from a host that is lost, by one caller, and the log says why', async () => {
  const host = names();
  const { conversationId, row } = await sandboxOn(host.gone);
  await silent(host);
  const changes = await Promise.all(Array.from({ length: 6 }, () => change(host.own)));
  await store.hosts.beat(host.own, AFTER_MS);
  const taken = await Promise.all(changes.map((each) => store.sandboxes.takeOver(row.sandboxId, row.generation, each, AFTER_MS)));
  const won = taken.filter((each) => each !== undefined);
  expect(won).toMatchObject([{ hostId: host.own, state: 'lost', volumeName: 'v-new', generation: row.generation + 1 }]);
  expect(won[0]!.fence).toBeGreaterThan(row.fence);
  expect(won[0]!.containerId).toBeUndefined();
  expect(won[0]!.filesLostAt).toBeDefined();
  const events = await store.events.read(conversationId, 1);
  expect(events.at(-1)).toMatchObject({ type: 'sandbox.changed', data: { tier: 'lost', from: 'running', lost: 'its host is gone' } });
});

test('a sandbox of a host that is there is not taken over, and neither is one whose host comes back at this moment', async () => {
  const host = names();
  const { row } = await sandboxOn(host.gone);
  expect(await store.sandboxes.takeOver(row.sandboxId, row.generation, await change(host.own), AFTER_MS)).toBeUndefined();
  await silent(host);
  const client = new Client(url);
  await client.connect();
  try {
    await client.query('begin');
    await client.query('update hosts set heard_at = clock_timestamp() where host_id = $1', [host.gone]);
    await store.hosts.beat(host.own, AFTER_MS);
    const taking = store.sandboxes.takeOver(row.sandboxId, row.generation, await change(host.own), AFTER_MS);
    await until(async () => (await waitingForLocks({ databaseUrl: url })) > 0, 'the takeover waits for the row of the host');
    await client.query('commit');
    expect(await taking).toBeUndefined();
  } finally {
    await client.end();
  }
  expect(await store.sandboxes.get(row.sandboxId)).toMatchObject({ hostId: host.gone, state: 'running' });
});
