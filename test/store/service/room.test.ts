import type { WaitsForRoom } from '../../../src/contracts/hosts/room.ts';
import { openDatabase, type Database } from '../../../src/store/database/database.ts';
import type { SandboxRow, SandboxState } from '../../../src/store/sandbox-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../e2e/support.ts';
import { newConversation, newId, silent, statusOf, useTestStore } from '../support.ts';

let store: Store;
let database: Database;
// Before the store closes, whose database has to be left.
afterAll(() => database.close());
useTestStore((opened) => {
  ({ store } = opened);
  database = openDatabase({ url: opened.url, log: silent, poolSize: 1 });
});

const GIB = 2 ** 30;
const LOST_MS = 60_000;

/** A host that may promise so many GiB. */
async function host(gib: number | undefined, runtimes = ['runc'], labels?: string[]): Promise<string> {
  const hostId = `host-${newId('sbx')}`;
  await store.hosts.beat(hostId, LOST_MS);
  const limit = { ...(gib !== undefined && { allowedBytes: gib * GIB }), ...(labels && { labels }) };
  await store.fleet.describe(hostId, { version: '1', runtimes, memoryBytes: 64 * GIB, ...limit });
  return hostId;
}

interface Wanted {
  conversationId?: string;
  state?: SandboxState;
  memoryMb?: number;
}
/** A sandbox; of 1 GiB, where nothing else is said. */
async function make(hostId: string, { conversationId, state = 'creating', memoryMb }: Wanted = {}): Promise<SandboxRow> {
  const sandboxId = newId('sbx');
  const names = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  const owner = { sandboxId, tenantId: 'default', ...(conversationId !== undefined && { conversationId }) };
  return store.sandboxes.ensure({ ...owner, state, hostId, ...names, options: memoryMb === undefined ? {} : { memoryMb } });
}
async function change(row: SandboxRow, state: SandboxState): Promise<SandboxRow> {
  const changed = await store.sandboxes.change(row.sandboxId, row.generation, { state });
  if (!changed) throw new Error('it was changed meanwhile');
  return changed;
}
const promise = ({ sandboxId, generation, hostId }: SandboxRow) => store.sandboxes.promise(sandboxId, generation, hostId);
const promised = async (hostId: string) => ((await store.fleet.hosts(LOST_MS, hostId))[0]?.reservedBytes ?? 0) / GIB;
const WAITS: WaitsForRoom = { neededMb: 1024, host: 'host', promisedMb: 0, allowedMb: 0, ahead: 0 };
const stand = (waiter: string, hostId?: string, neededMb = 1024) =>
  store.roomQueue.join({ waiter, conversationId: waiter, tenantId: 'default', ...(hostId !== undefined && { hostId }), waits: { ...WAITS, neededMb } });
/** As if it had asked for the last time a minute ago. */
const silence = (waiter: string) =>
  database.query('silence', "update room_waits set seen_at = seen_at - interval '1 minute', asked_at = asked_at - interval '1 minute' where waiter = $1", [
    waiter,
  ]);
const refused = (ahead = 0) => ({ code: 'HOST_FULL', values: { neededMb: 1024, ahead } });

test('a host takes sandboxes until their memory limits are what it may promise', async () => {
  const full = await host(2.5);
  const one = await make(full);
  await make(full, { memoryMb: 1536 });
  await expect(make(full, { memoryMb: 1 })).rejects.toMatchObject({
    code: 'HOST_FULL',
    values: { host: full, neededMb: 1, promisedMb: 2560, allowedMb: 2560, ahead: 0 },
  });
  expect(await promised(full)).toBe(2.5);
  await change(one, 'destroyed');
  await make(full);
  const other = await host(undefined);
  for (let count = 0; count < 5; count += 1) await make(other, { memoryMb: 60_000 });
});

test('of many that ask at the same time, as many get memory as there is', async () => {
  const full = await host(7);
  const asked = await Promise.allSettled(Array.from({ length: 20 }, () => make(full)));
  expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
  expect(await promised(full)).toBe(7);
});

test('what rests needs no memory, and has it promised before it wakes', async () => {
  const full = await host(1);
  const rests: SandboxRow[] = [];
  for (const state of ['stopped', 'hibernated', 'lost', 'archived'] as const) rests.push(await change(await make(full), state));
  for (const row of rests) {
    const woken = await promise(row);
    expect(woken).toMatchObject({
      row: { sandboxId: row.sandboxId, generation: row.generation, promised: { hostId: full, for: 'wake' } },
      token: expect.any(String),
    });
    await expect(make(full)).rejects.toMatchObject(refused());
    const running = await change(row, 'running');
    expect(running).not.toHaveProperty('promised');
    expect(await promised(full)).toBe(1);
    expect(await promise(running)).toBeUndefined();
    await change(running, 'destroyed');
  }
});

test('a promise outlasts changes before the processes run, and not their end', async () => {
  const full = await host(1);
  const stopped = await change(await make(full), 'stopped');
  await promise(stopped);
  const lost = await change(stopped, 'lost');
  expect(lost).toMatchObject({ promised: { hostId: full, for: 'wake' } });
  expect(await change(await change(lost, 'running'), 'stopped')).not.toHaveProperty('promised');
  expect(await promised(full)).toBe(0);
});

test('a sandbox that is put to disk has its memory until that is done, and again when it cannot be', async () => {
  const full = await host(1);
  const made = await make(full);
  const rest = (row: SandboxRow) => store.sandboxes.change(row.sandboxId, row.generation, { state: 'hibernated', promisedFor: 'rest' });
  const resting = await rest(made);
  if (!resting) throw new Error('it was changed meanwhile');
  await expect(make(full)).rejects.toMatchObject(refused());
  const running = await change(resting, 'running');
  const again = await rest(running);
  if (!again) throw new Error('it was changed meanwhile');
  await store.sandboxes.release(made.sandboxId, { generation: running.generation });
  expect(await promised(full)).toBe(1);
  await store.sandboxes.release(made.sandboxId, again);
  expect(await promised(full)).toBe(0);
});

test('a promise ends with its own name alone, and not when another caller has joined it', async () => {
  const full = await host(1);
  const stopped = await change(await make(full), 'stopped');
  const { token = '' } = (await promise(stopped)) ?? {};
  const joined = await promise(stopped);
  expect(joined).not.toHaveProperty('token');
  await store.sandboxes.release(stopped.sandboxId, { token });
  await store.sandboxes.release(stopped.sandboxId, stopped);
  expect(await promised(full)).toBe(1);
  expect(await store.sandboxes.listPromised(full, 60_000)).toEqual([]);
  const [left] = await store.sandboxes.listPromised(full, -60_000);
  expect(left).toMatchObject({ row: { sandboxId: stopped.sandboxId } });
  await store.sandboxes.release(stopped.sandboxId, { token: left?.token ?? '' });
  expect(await promised(full)).toBe(0);
});

test('who has waited longer comes first, also where there is room for others', async () => {
  const full = await host(2);
  const taken = await make(full, { memoryMb: 1536 });
  const [first, second] = [await newConversation(store), await newConversation(store)];
  await expect(make(full, { conversationId: first })).rejects.toMatchObject(refused());
  expect(await stand(first, full)).toMatchObject({ isNew: true });
  await store.roomQueue.told(first);
  expect(await stand(first, full)).toMatchObject({ isNew: false });
  await stand(second, full, 512);
  expect((await store.conversations.get(first))?.status).toMatchObject({ waitsForRoom: WAITS });
  await expect(make(full, { conversationId: second, memoryMb: 512 })).rejects.toMatchObject({ code: 'HOST_FULL', values: { ahead: 1 } });
  await expect(make(full, { memoryMb: 1 })).rejects.toMatchObject({ code: 'HOST_FULL', values: { ahead: 2 } });
  const resting = await change(taken, 'stopped');
  await expect(promise(resting)).rejects.toMatchObject({ code: 'HOST_FULL', values: { ahead: 2 } });
  await make(full, { conversationId: first });
  expect((await store.conversations.get(first))?.status).not.toHaveProperty('waitsForRoom');
  await make(full, { conversationId: second, memoryMb: 512 });
  await make(full, { memoryMb: 512 });
  expect(await promised(full)).toBe(2);
});

test.each(['closed', 'paused'] as const)('a conversation that is %s keeps nobody waiting', async (state) => {
  const full = await host(1);
  const first = await newConversation(store);
  await stand(first, full);
  await expect(make(full)).rejects.toMatchObject(refused(1));
  await store.conversations.saveStatus(statusOf(first, { state }), []);
  await make(full);
});

test('a waiter that asks no more has left the queue, and joins at its end', async () => {
  const full = await host(1);
  const [first, second] = [await newConversation(store), await newConversation(store)];
  await stand(first, full);
  await store.roomQueue.told(first);
  await stand(second, full);
  await silence(first);
  await expect(make(full)).rejects.toMatchObject(refused(1));
  const { waitedMs, isNew } = await stand(first, full);
  expect(isNew).toBe(true);
  expect(waitedMs).toBeLessThan(60_000);
  await expect(make(full, { conversationId: first })).rejects.toMatchObject(refused(1));
  await store.roomQueue.leave(second);
  await make(full, { conversationId: first });
});

test('one that any host may take comes first on each that could take it', async () => {
  const [small, other, drained] = [await host(1), await host(2), await host(2)];
  await store.fleet.setDraining(drained, true);
  const waiter = await newConversation(store);
  await stand(waiter, undefined, 2048);
  await make(small);
  await make(drained);
  await expect(make(other)).rejects.toMatchObject(refused(1));
  await store.roomQueue.join({ waiter, conversationId: waiter, tenantId: 'default', runtime: 'runsc', waits: WAITS });
  await make(other);
  await store.roomQueue.leave(waiter);
});

test('no pool takes memory that is waited for, and a warm sandbox goes to who is first', async () => {
  const full = await host(2);
  const pool = { hostId: full, key: `key-${full}`, preferred: [] };
  const add = (slot: number) => {
    const sandboxId = newId('sbx');
    return store.pools.add({ sandboxId, hostId: full, containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}`, options: {} }, { key: pool.key, slot });
  };
  await add(1);
  const [warm] = await store.pools.list(full, pool.key);
  if (!warm) throw new Error('there is none');
  await change(warm, 'warm');
  const [first, second] = [await newConversation(store), await newConversation(store)];
  const claim = (conversationId: string) => store.pools.claim(pool, { sandboxId: newId('sbx'), conversationId, tenantId: 'default', options: {} });
  await stand(first, full);
  await expect(add(2)).rejects.toMatchObject(refused(1));
  await expect(claim(second)).rejects.toMatchObject(refused(1));
  // Postgres reports an error before the transaction has released its row locks, and a claim skips a locked row.
  let claimed: SandboxRow | undefined;
  await until(async () => {
    claimed ??= await claim(first);
    return claimed !== undefined;
  }, 'the warm sandbox can be claimed');
  expect(claimed).toMatchObject({ conversationId: first, state: 'creating' });
  await add(2);
  await expect(add(3)).rejects.toMatchObject(refused());
  expect(await store.pools.unclaimed(full)).toMatchObject([{ pool: { slot: 2 } }]);
});

test('hosts say what they promise, what is left without warm sandboxes, and how many wait', async () => {
  const full = await host(3);
  await make(full);
  const sandboxId = newId('sbx');
  await store.pools.add({ sandboxId, hostId: full, containerName: 'c', volumeName: 'v', options: {} }, { key: `key-${full}`, slot: 1 });
  await stand(await newConversation(store), full);
  const [candidate] = (await store.fleet.candidates({ sandboxId: newId('sbx') }, LOST_MS)).filter(({ hostId }) => hostId === full);
  expect(candidate).toEqual({ hostId: full, load: 2 / 64, allowedBytes: 3 * GIB, roomBytes: 2 * GIB, ahead: 1 });
  expect(await store.fleet.hosts(LOST_MS, full)).toMatchObject([{ reservedBytes: 2 * GIB, waiting: 1 }]);
});

test('one that waits for a host with labels is passed by others on hosts that lack one of them', async () => {
  const [plain, one, both] = [await host(1), await host(1, ['runc'], ['gpu']), await host(1, ['runc'], ['gpu', 'zone=a'])];
  const conversationId = await newConversation(store);
  await store.roomQueue.join({ waiter: conversationId, conversationId, tenantId: 'default', labels: ['gpu', 'zone=a'], waits: WAITS });
  await make(plain);
  await make(one);
  await expect(make(both)).rejects.toMatchObject(refused(1));
  await make(both, { conversationId });
});

test('who waits for disk keeps nobody from memory, and leaves the line with the sandbox, whatever it is made of', async () => {
  const limited = await host(2);
  const disk = { freeMb: 100, leastMb: 1280 };
  const [fresh, archived] = [await newConversation(store), await newConversation(store)];
  const packed = await make(limited, { conversationId: archived });
  await change(packed, 'archived');
  for (const waiter of [fresh, archived]) await store.roomQueue.join({ waiter, conversationId: waiter, tenantId: 'default', waits: { ...WAITS, disk } });
  const waits = async (id: string) => (await store.conversations.get(id))?.status.waitsForRoom;
  expect([await waits(fresh), await waits(archived)]).toEqual([
    { ...WAITS, disk },
    { ...WAITS, disk },
  ]);
  await make(limited);
  const unlimited = await host(undefined);
  await make(unlimited, { conversationId: fresh });
  expect(await waits(fresh)).toBeUndefined();
  const row = (await store.sandboxes.ofConversation(archived))!;
  await store.sandboxes.change(row.sandboxId, row.generation, { state: 'stopped', hostId: unlimited });
  expect(await waits(archived)).toBeUndefined();
});

test('who waits for any host delays no sandbox of a host that is short of disk, and so may not take it', async () => {
  const short = await host(2);
  const rests = await change(await make(short), 'stopped');
  const facts = { version: '1', runtimes: ['runc'], memoryBytes: 64 * GIB, allowedBytes: 2 * GIB };
  const disk = { freeBytes: 1, totalBytes: GIB, againBytes: 20, isShort: true };
  await store.fleet.describe(short, { ...facts, disk });
  const waiter = await newConversation(store);
  await stand(waiter);
  expect(await promise(rests)).toMatchObject({ row: { sandboxId: rests.sandboxId } });
  const again = await change(await change(rests, 'running'), 'stopped');
  await store.fleet.describe(short, { ...facts, disk: { ...disk, freeBytes: 30, isShort: false } });
  await expect(promise(again)).rejects.toMatchObject(refused(1));
  await store.roomQueue.leave(waiter);
});

test('who gets a sandbox on a host without a limit waits no more', async () => {
  const full = await host(1);
  const [waiter, next] = [await newConversation(store), await newConversation(store)];
  const running = await make(full);
  await stand(waiter);
  expect((await store.conversations.get(waiter))?.status.waitsForRoom).toBeDefined();
  await make(await host(undefined), { conversationId: waiter });
  expect((await store.conversations.get(waiter))?.status.waitsForRoom).toBeUndefined();
  await change(running, 'destroyed');
  await make(full, { conversationId: next });
});
