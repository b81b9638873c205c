import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { deferred } from '../../src/common/deferred.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../e2e/support.ts';
import { waitingForLocks } from '../sandbox/lifecycle/support.ts';
import { newConversation, newId, useTestStore } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

function newSandbox(conversationId?: string, hostId = 'host-1') {
  const sandboxId = newId('sbx');
  return {
    sandboxId,
    ...(conversationId && { conversationId }),
    tenantId: 'default',
    state: 'creating' as const,
    hostId,
    containerName: `c-${sandboxId}`,
    volumeName: `v-${sandboxId}`,
    options: { memoryMb: 512 },
  };
}

test('a conversation has one sandbox, however many ask for it at once', async () => {
  const id = await newConversation(store);
  const rows = await Promise.all(Array.from({ length: 8 }, () => store.sandboxes.ensure(newSandbox(id))));
  expect(new Set(rows.map((row) => row.sandboxId)).size).toBe(1);
  expect(rows[0]).toMatchObject({ generation: 1, state: 'creating', conversationId: id, options: { memoryMb: 512 } });
  expect(await store.sandboxes.ofConversation(id)).toEqual({ ...rows[0], idleMs: expect.any(Number) });
});

test('shared holds of a sandbox run at once, others alone; its row can be read and changed meanwhile', async () => {
  const { sandboxId } = await store.sandboxes.ensure(newSandbox());
  const order: string[] = [];
  const [first, second, end] = [deferred<undefined>(), deferred<undefined>(), deferred<undefined>()];
  const share = (begun: typeof first) =>
    store.sandboxes.hold(sandboxId, 'shared', async (row) => {
      begun.resolve(undefined);
      await end.promise;
      order.push(`shared ${row?.generation}`);
    });
  const shared = [share(first), share(second)];
  await Promise.all([first.promise, second.promise]);
  const alone = store.sandboxes.hold(sandboxId, 'alone', async (row) => order.push(`alone ${row?.generation}`));
  await until(async () => (await waitingForLocks({ databaseUrl: url })) > 0, 'the one that is alone waits');
  expect(await store.sandboxes.change(sandboxId, 1, { state: 'running' })).toMatchObject({ generation: 2 });
  end.resolve(undefined);
  await Promise.all([...shared, alone]);
  expect(order).toEqual(['shared 1', 'shared 1', 'alone 2']);
  expect(await store.sandboxes.hold('sbx_none', 'alone', async (row) => row)).toBeUndefined();
});

test('a connection that is lost while it holds a sandbox releases that sandbox, and ends nothing else', async () => {
  const { sandboxId } = await store.sandboxes.ensure(newSandbox());
  const held = store.sandboxes.hold(sandboxId, 'alone', async () => {
    const client = new Client(url);
    await client.connect();
    const lost = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'";
    expect((await client.query(lost)).rowCount).toBe(1);
    await client.end();
    return store.sandboxes.change(sandboxId, 1, { state: 'running' });
  });
  expect(await held).toMatchObject({ generation: 2 });
  expect(await store.sandboxes.hold(sandboxId, 'alone', async (row) => row?.state)).toBe('running');
});

test('the error of work that holds a sandbox is its own, and the sandbox can be held again', async () => {
  const { sandboxId } = await store.sandboxes.ensure(newSandbox());
  const broken = new Error('the engine is away');
  const failing = () => store.sandboxes.hold(sandboxId, 'alone', () => Promise.reject(broken));
  // More often than there are connections for it.
  for (let turn = 0; turn < 10; turn += 1) await expect(failing()).rejects.toBe(broken);
  expect(await store.sandboxes.hold(sandboxId, 'shared', async (row) => row?.sandboxId)).toBe(sandboxId);
});

test('of changes that saw the same generation, one wins', async () => {
  const { sandboxId } = await store.sandboxes.ensure(newSandbox());
  const changes = await Promise.all(
    (['running', 'lost', 'stopped'] as const).map((state) => store.sandboxes.change(sandboxId, 1, { state, containerId: state })),
  );
  const winners = changes.filter((row) => row !== undefined);
  expect(winners).toHaveLength(1);
  expect(winners[0]).toMatchObject({ generation: 2, containerId: winners[0]?.state });
  expect(await store.sandboxes.get(sandboxId)).toMatchObject({ generation: 2, state: winners[0]?.state });
});

test('a change of tier is told in the events of its conversation; one that keeps the tier is not', async () => {
  const id = await newConversation(store);
  const { sandboxId } = await store.sandboxes.ensure(newSandbox(id));
  await store.sandboxes.change(sandboxId, 1, { state: 'running', containerId: 'abc' });
  await store.sandboxes.change(sandboxId, 2, { state: 'running' });
  await store.sandboxes.change(sandboxId, 3, { state: 'lost', lost: 'processes' });
  await store.sandboxes.change(sandboxId, 4, { state: 'creating' });
  expect((await store.events.read(id, 1)).map((event) => [event.type, event.data])).toEqual([
    ['sandbox.changed', { tier: 'running', from: 'none' }],
    ['sandbox.changed', { tier: 'lost', from: 'running', lost: 'processes' }],
  ]);
  expect(await store.sandboxes.get(sandboxId)).toMatchObject({ generation: 5, containerId: 'abc' });
});

test('sandboxes are listed by host and state, touched and removed', async () => {
  const hostId = newId('sbx');
  const first = await store.sandboxes.ensure(newSandbox(undefined, hostId));
  const second = await store.sandboxes.ensure(newSandbox(undefined, hostId));
  await store.sandboxes.change(second.sandboxId, 1, { state: 'running' });
  const list = async (filter: Parameters<Store['sandboxes']['list']>[0]) => (await store.sandboxes.list(filter)).map((row) => row.sandboxId);
  expect(await list({ hostId })).toEqual([first.sandboxId, second.sandboxId]);
  expect(await list({ hostId, states: ['running', 'frozen'] })).toEqual([second.sandboxId]);
  await store.sandboxes.touch(first.sandboxId);
  expect((await store.sandboxes.get(first.sandboxId))!.lastUsedAt >= first.lastUsedAt).toBe(true);
  await store.sandboxes.remove(first.sandboxId);
  expect(await store.sandboxes.get(first.sandboxId)).toBeUndefined();
});

test('the moment at which files were lost is kept through later changes', async () => {
  const { sandboxId } = await store.sandboxes.ensure(newSandbox());
  expect(await store.sandboxes.change(sandboxId, 1, { state: 'running' })).not.toHaveProperty('filesLostAt');
  const lost = await store.sandboxes.change(sandboxId, 2, { state: 'lost', filesLost: true });
  expect(Date.parse(lost?.filesLostAt ?? '')).not.toBeNaN();
  expect((await store.sandboxes.change(sandboxId, 3, { state: 'running' }))?.filesLostAt).toBe(lost?.filesLostAt);
});

test('a row with a time that no client can read is read all the same, and healed by the migration that refuses more of them', async () => {
  const { sandboxId } = await store.sandboxes.ensure({ ...newSandbox(), ttlMs: 1000 });
  await using database = await connect(url);
  const run = (sql: string) => database.client.query(sql);
  await run('alter table sandboxes drop constraint sandboxes_finite_expiry');
  const poison = (time: string) => run(`update sandboxes set expires_at = '${time}' where sandbox_id = '${sandboxId}'`);
  for (const [time, told] of [
    ['infinity', '+275760-09-13T00:00:00.000Z'],
    ['-infinity', '-271821-04-20T00:00:00.000Z'],
    ['294000-01-01', '+275760-09-13T00:00:00.000Z'],
  ] as const) {
    await poison(time);
    expect((await store.sandboxes.list({})).find((row) => row.sandboxId === sandboxId)?.expiresAt).toBe(told);
  }
  const [up = ''] = (await readFile('src/store/database/migrations/0015_finite_expiry.sql', 'utf8')).split('-- Down Migration');
  await poison('infinity');
  await run(up);
  const healed = await store.sandboxes.get(sandboxId);
  expect(Date.parse(healed?.expiresAt ?? '') - Date.now()).toBeLessThan(100.1 * 365.25 * 86_400_000);
  await expect(poison('infinity')).rejects.toThrow('sandboxes_finite_expiry');
});

test('the rules about hosts of a sandbox are replaced, and its other options stay', async () => {
  const { sandboxId } = await store.sandboxes.ensure(newSandbox());
  await store.sandboxes.setEgress(sandboxId, ['example.org']);
  expect((await store.sandboxes.get(sandboxId))?.options).toEqual({ memoryMb: 512, egress: ['example.org'] });
});

async function connect(connectionString: string): Promise<{ client: Client } & AsyncDisposable> {
  const client = new Client({ connectionString });
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}
