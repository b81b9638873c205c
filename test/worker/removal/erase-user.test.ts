import { WorkflowNotFoundError } from '@temporalio/client';
import { keyIdOfToken } from '../../../src/contracts/api-key.ts';
import { failure } from '../../../src/contracts/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { pseudonymOf } from '../../../src/platform/pseudonym.ts';
import { eraseUser, type ErasureParts } from '../../../src/worker/removal/erase-user.ts';
import { removeOld } from '../../../src/worker/removal/remove-old.ts';
import { BY, newConversation, newId, silent, statusOf, useTestStore } from '../../store/support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const tenantId = 'north';
const exists = async (id: string) => (await store.conversations.get(id)) !== undefined;

interface Setting {
  /** What happens while Temporal is asked to remove a history. */
  during?: (id: string) => Promise<void>;
  schedules?: string[];
  destroy?: (sandboxId: string) => Promise<void>;
}

/** An installation without workflows. `removed` lists histories. */
function setUp({ during = async () => undefined, schedules = [], destroy = destroyRow }: Setting = {}) {
  const removed: string[] = [];
  const none = async (id: string) => Promise.reject(new WorkflowNotFoundError('none', id, undefined));
  const parts = {
    store,
    sandboxes: { hostId: 'host-1', destroy, removeSnapshot: async (id: string) => void (await store.snapshots.remove(id)) },
    workflows: { getHandle: (id: string) => ({ describe: () => none(id) }) },
    histories: {
      remove: async (id: string) => {
        await during(id);
        removed.push(id);
        return true;
      },
      removeRunsOf: async () => true,
    },
    longshore: {
      close: async () => undefined,
      schedules: {
        list: async () => schedules.map((id) => ({ id, tenant: tenantId, user: 'ada' })),
        delete: async (scheduleId: string) => Promise.reject(failure('SCHEDULE_NOT_FOUND', { scheduleId })),
      },
    },
    log: silent,
    by: BY,
    closeMs: 0,
  } as unknown as ErasureParts;
  return { removed, erase: () => eraseUser(parts, { tenantId, userId: 'ada' }), round: () => removeOld(parts, undefined, new AbortController().signal) };
}

async function destroyRow(sandboxId: string): Promise<void> {
  const row = (await store.sandboxes.get(sandboxId))!;
  await store.sandboxes.change(sandboxId, row.generation, { state: 'destroyed' });
}

/** A closed conversation, and a snapshot with a name of its sandbox that was made on another host. */
async function closedOne(): Promise<{ id: string; sandboxId: string; snapshotId: string }> {
  const id = await newConversation(store, { tenantId, userId: 'ada' });
  const [sandboxId, snapshotId] = [newId('sbx'), newId('snap')];
  const place = { tenantId, hostId: 'host-2', options: {} };
  await store.sandboxes.ensure({ ...place, sandboxId, conversationId: id, state: 'stopped', containerName: sandboxId, volumeName: sandboxId });
  await store.snapshots.insert({ ...place, snapshotId, sandboxId, volumeName: snapshotId });
  await store.snapshots.finish(snapshotId, { name: 'before' });
  await store.conversations.close(id, {});
  return { id, sandboxId, snapshotId };
}

test('a round of a worker during an erasure leaves nothing that the erasure no longer finds, also after an interruption', async () => {
  const { id, snapshotId } = await closedOne();
  const isKilled = [true, false];
  const { erase, removed, round } = setUp({
    async during() {
      expect(await round()).toEqual([]);
      expect(await exists(id)).toBe(true);
      if (isKilled.shift()) throw new Error('killed');
    },
  });
  await expect(erase()).rejects.toThrow('killed');
  expect(await round()).toEqual([]);
  expect(await erase()).toMatchObject({ conversations: 1, left: [] });
  expect([removed, await exists(id), await store.snapshots.get(snapshotId)]).toEqual([[id], false, undefined]);
});

test("a snapshot of another tenant's earlier sandbox with the same id stays", async () => {
  const { sandboxId, snapshotId } = await closedOne();
  const kept = newId('snap');
  await store.snapshots.insert({ snapshotId: kept, sandboxId, tenantId: 'another', hostId: 'host-2', volumeName: kept, options: {} });
  await store.snapshots.finish(kept, { name: 'kept' });
  await setUp({}).erase();
  expect(await store.snapshots.get(snapshotId)).toBeUndefined();
  expect(await store.snapshots.get(kept)).toMatchObject({ name: 'kept', tenantId: 'another' });
  await store.snapshots.remove(kept);
});

test('of a sandbox that is on another host, the snapshots go at once, and a worker of that host removes the rest', async () => {
  const { id, sandboxId, snapshotId } = await closedOne();
  const { erase } = setUp({ destroy: async () => Promise.reject(failure('SANDBOX_UNREACHABLE', { sandboxId, problem: 'it is on another host' })) });
  expect(await erase()).toMatchObject({ conversations: 0, left: [{ conversationId: id, why: 'elsewhere' }] });
  expect(await store.snapshots.get(snapshotId)).toBeUndefined();
  expect(await setUp().round()).toEqual([id]);
});

test('what is removed by others meanwhile counts as removed', async () => {
  const { id } = await closedOne();
  const { erase } = setUp({
    schedules: ['daily'],
    async during() {
      await destroyRow((await store.sandboxes.ofConversation(id))!.sandboxId);
      await store.removal.finish(id);
    },
  });
  expect(await erase()).toMatchObject({ conversations: 1, schedules: 1, left: [] });
});

test('an import under way ends with the erasure of its user', async () => {
  const place = { conversationId: newId('conv'), attempt: 'one' };
  const status = statusOf(place.conversationId, { tenantId, userId: 'ada' });
  await store.imports.begin({ ...place, status, from: { conversationId: 'before', exportedAt: '2026-11-01T00:00:00.000Z' }, digest: 'd' });
  let refused: unknown;
  const { erase } = setUp({
    async during() {
      refused = await store.imports.addEvents(place, 1, Buffer.from('{}\n')).catch((error: unknown) => error);
    },
  });
  expect(await erase()).toMatchObject({ conversations: 1, left: [] });
  expect(refused).toMatchObject({ code: 'IMPORT_REPLACED' });
});

test('limits that were set for a user who comes with a token go with the user, whom the audit log does not name', async () => {
  const [gone, stays] = ['ada', 'bob'].map((userId) => keyIdOfToken(tenantId, userId));
  for (const key of [gone!, stays!]) await store.limits.set({ key }, { requestsPerMinute: 5 }, BY);
  await store.limits.set({ key: gone! }, {}, BY);
  await store.limits.set({ key: gone! }, { requestsPerMinute: 6 }, BY);
  await setUp().erase();
  expect((await store.limits.list()).map((one) => ('key' in one ? one.key : one))).toEqual([stays]);
  const rows = await store.audit.list({ action: 'limits.set', limit: 10 });
  expect(rows.map(({ target, tenantId: tenant }) => [target, tenant])).toEqual(
    ['ada', 'ada', 'bob', 'ada'].map((userId) => [`user:${pseudonymOf({ tenantId, userId })}`, tenantId]),
  );
  await store.limits.set({ tenant: 'south' }, { streams: 1 }, BY);
  await store.limits.set({ key: 'key-1' }, { streams: 1 }, BY);
  const others = await store.audit.list({ action: 'limits.set', limit: 2 });
  expect(others.map(({ target, tenantId: tenant }) => [target, tenant])).toEqual([['key:key-1', undefined], ['tenant:south', 'south']]); // prettier-ignore
});
