import { Client } from 'pg';
import type { SandboxOptions } from '../../../../src/contracts/agent.ts';
import type { SandboxOwner } from '../../../../src/sandbox/api/sandbox.ts';
import { createControl } from '../../../../src/sdk/sandbox-control.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from '../support.ts';

/** An engine whose host promises room for two sandboxes. */
const OPTIONS: SandboxOptions = { memoryMb: 256 };
const ALLOWED_BYTES = 512 * 2 ** 20;

let parts: TestSandboxes;
let count = 0;
beforeAll(async () => {
  parts = await createTestSandboxes();
  await parts.store.hosts.beat('test-host', 60_000);
  await parts.store.fleet.describe('test-host', { version: '1', runtimes: ['runc'], memoryBytes: 4 * 2 ** 30, allowedBytes: ALLOWED_BYTES });
});
afterAll(async () => parts[Symbol.asyncDispose]());

function newOwner(): SandboxOwner & { conversationId: string } {
  const conversationId = `conv_room_${(count += 1)}`;
  return { sandboxId: `sbx_room_${count}`, conversationId, tenantId: 'tenant' };
}
const open = async (owner = newOwner(), options = OPTIONS) => (await parts.sandboxes.open(owner, options)).handle;
const full = { code: 'HOST_FULL', values: { host: 'test-host', neededMb: 256, allowedMb: 512 } };
const reserved = async () => (await parts.store.fleet.hosts(60_000, 'test-host'))[0]?.reservedBytes;
const waiting = async () => (await parts.store.fleet.hosts(60_000, 'test-host'))[0]?.waiting;
const destroy = (...ids: string[]) => Promise.all(ids.map((id) => parts.sandboxes.destroy(id)));

test('two workers that open many at the same time open as many as there is room for', async () => {
  const second = parts.another();
  const opened = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? parts.sandboxes : second).open(newOwner(), OPTIONS)));
  const handles = opened.flatMap((end) => (end.status === 'fulfilled' ? [end.value.handle] : []));
  for (const end of opened) if (end.status === 'rejected') expect(end.reason).toMatchObject(full);
  expect(handles).toHaveLength(2);
  expect(await reserved()).toBe(ALLOWED_BYTES);
  await destroy(...handles.map(({ sandboxId }) => sandboxId));
  expect(await reserved()).toBe(0);
  for (let waiter = 1; waiter <= count; waiter += 1) await parts.store.roomQueue.leave(`conv_room_${waiter}`);
});

test('warm sandboxes are given up for others, and none is made while there is no room', async () => {
  const pool = { name: 'small', options: OPTIONS, size: 2 };
  const warm = () => parts.store.sandboxes.list({ states: ['warm'] });
  await using _kept = parts.sandboxes.keepWarm!([pool]);
  await until(async () => (await warm()).length === 2, 'the pool is full');
  const other = { ...OPTIONS, pids: 100 };
  const [first, second] = [await open(newOwner(), other), await open(newOwner(), other)];
  expect(await warm()).toEqual([]);
  await expect(open(newOwner(), other)).rejects.toMatchObject(full);
  await parts.store.roomQueue.leave(`conv_room_${count}`);
  await destroy(first.sandboxId, second.sandboxId);
});

test('who has waited without a conversation takes a warm sandbox when it is first, and has left the queue then', async () => {
  await using _kept = parts.sandboxes.keepWarm!([{ name: 'small', options: OPTIONS, size: 1 }]);
  const warm = () => parts.store.sandboxes.list({ states: ['warm'] });
  await until(async () => (await warm()).length === 1, 'one is warm');
  const other = await open(newOwner(), { ...OPTIONS, pids: 100 });
  const waits = { neededMb: 512, host: 'test-host', promisedMb: 512, allowedMb: 512, ahead: 0 };
  await parts.store.roomQueue.join({ waiter: 'sbx_large', tenantId: 'tenant', hostId: 'test-host', waits });
  const program = { sandboxId: 'sbx_program', tenantId: 'tenant', anyId: true, ttlMs: 600_000 };
  await expect(parts.sandboxes.open(program, OPTIONS)).rejects.toMatchObject({ code: 'HOST_FULL', values: { ahead: 1 } });
  await parts.store.roomQueue.leave('sbx_large');
  const [ready] = await warm();
  const { handle } = await parts.sandboxes.open(program, OPTIONS);
  expect(handle.sandboxId).toBe(ready?.sandboxId);
  expect((await parts.store.fleet.hosts(60_000, 'test-host'))[0]?.waiting).toBe(0);
  await destroy(other.sandboxId, handle.sandboxId);
});

test('a sandbox that was stopped needs room to run again, and has its files then', async () => {
  const owner = newOwner();
  const stopped = await open(owner);
  await output(stopped, 'echo kept > file');
  await parts.sandboxes.stop(stopped.sandboxId);
  const others = [await open(), await open()] as const;
  await expect(output(stopped, 'cat file')).rejects.toMatchObject(full);
  await expect(parts.sandboxes.wake(stopped.sandboxId)).rejects.toMatchObject(full);
  expect(await parts.sandboxes.tier(stopped.sandboxId)).toBe('stopped');
  await destroy(others[0].sandboxId);
  expect(await output(stopped, 'cat file')).toBe('kept');
  expect(await reserved()).toBe(ALLOWED_BYTES);
  await destroy(stopped.sandboxId, others[1].sandboxId);
});

test('a sandbox of a snapshot, and one that is woken, wait until there is room', async () => {
  const source = await open();
  await output(source, 'echo kept > file');
  const { snapshotId } = await parts.sandboxes.snapshot(source.sandboxId, { name: 'kept' });
  await parts.sandboxes.stop(source.sandboxId);
  const others = [await open(), await open()] as const;
  const waits: Error[] = [];
  const copy = { sandboxId: 'sbx_room_copy', tenantId: 'tenant', ttlMs: 1000 };
  const restoring = parts.sandboxes.restore(snapshotId, copy, { onWait: (why) => waits.push(why) });
  await until(async () => waits.length > 1, 'it has asked again');
  const leftMs = Date.parse((await parts.store.sandboxes.get(copy.sandboxId))?.expiresAt ?? '') - Date.now();
  expect(leftMs).toBeGreaterThan(copy.ttlMs * 10);
  expect(waits[0]).toMatchObject({ ...full, values: { ...full.values, sandboxId: copy.sandboxId } });
  const waking = createControl(parts, source.sandboxId).wake();
  await until(async () => (await waiting()) === 2, 'both wait');
  await destroy(others[0].sandboxId);
  expect(await output((await restoring).handle, 'cat file')).toBe('kept');
  await destroy(others[1].sandboxId);
  expect(await waking).toBe('running');
  expect(await waiting()).toBe(0);
  await parts.sandboxes.removeSnapshot(snapshotId);
  await destroy(copy.sandboxId, source.sandboxId);
});

test('a restore that is given up while it waits leaves no sandbox, and no place in the queue', async () => {
  const source = await open();
  const { snapshotId } = await parts.sandboxes.snapshot(source.sandboxId, { name: 'given-up' });
  const other = await open();
  const leaving = new AbortController();
  const copy = { sandboxId: 'sbx_room_given_up', tenantId: 'tenant' };
  const given = parts.sandboxes.restore(snapshotId, copy, { signal: leaving.signal, onWait: () => leaving.abort() });
  await expect(given).rejects.toMatchObject({ name: 'AbortError' });
  expect(await parts.store.sandboxes.get(copy.sandboxId)).toBeUndefined();
  expect(await waiting()).toBe(0);
  await parts.sandboxes.removeSnapshot(snapshotId);
  await destroy(source.sandboxId, other.sandboxId);
});

test('a start that fails gives its memory back', async () => {
  const owner = newOwner();
  const { sandboxId } = await open(owner);
  await parts.sandboxes.archive(sandboxId);
  const row = await parts.store.sandboxes.get(sandboxId);
  if (row?.archive === undefined) throw new Error('it has no archive');
  await parts.store.blobs.remove(row.archive.files.blobId);
  await expect(open(owner)).rejects.toMatchObject({ code: 'ARCHIVE_DAMAGED' });
  expect(await reserved()).toBe(0);
  await destroy(sandboxId);
});

test('the reaper ends a promise whose worker has died, and not that of processes which run', async () => {
  const died = await open(newOwner());
  await parts.sandboxes.stop(died.sandboxId);
  const row = await parts.store.sandboxes.get(died.sandboxId);
  await parts.store.sandboxes.promise(died.sandboxId, row?.generation ?? 0, 'test-host');
  const running = await open();
  expect(await reserved()).toBe(ALLOWED_BYTES);
  await parts.another({ reapGraceMs: -60_000 }).reap();
  expect(await reserved()).toBe(ALLOWED_BYTES / 2);
  await destroy(died.sandboxId, running.sandboxId);
});

test('what a lost host was making is removed by a host that has no room for it', async () => {
  const memoryMb = 1024;
  const made = [];
  for (const ttlMs of [undefined, 1, 60_000]) {
    const { sandboxId, tenantId } = newOwner();
    const names = { containerName: parts.containerName(sandboxId), volumeName: `v-${sandboxId}`, hostId: 'lost-host' };
    made.push(await parts.store.sandboxes.ensure({ sandboxId, tenantId, state: 'creating', options: { memoryMb }, ...names, ...(ttlMs && { ttlMs }) }));
  }
  const [own, expired, prolonged] = made;
  await parts.store.hosts.beat('lost-host', 60_000);
  await query("update hosts set heard_at = heard_at - interval '1 hour', since = since - interval '2 hours' where host_id = 'lost-host'");
  await query("update hosts set since = since - interval '1 hour', heard_at = clock_timestamp() where host_id = 'test-host'");
  await destroy(own!.sandboxId);
  for (const { sandboxId } of [expired!, prolonged!]) await parts.sandboxes.destroy(sandboxId, { expiresAt: expired!.expiresAt! });
  const left = await Promise.all(made.map(({ sandboxId }) => parts.store.sandboxes.get(sandboxId)));
  expect(left).toMatchObject([{ state: 'destroyed' }, { state: 'destroyed' }, { state: 'creating', hostId: 'lost-host', generation: 1 }]);
  expect(await parts.store.sandboxes.list({ hostId: 'lost-host', states: ['creating'] })).toHaveLength(1);
});

async function query(sql: string): Promise<void> {
  const client = new Client(parts.databaseUrl);
  await client.connect();
  await client.query(sql);
  await client.end();
}
