import type { SandboxOptions } from '../../../../src/contracts/agent.ts';
import type { SandboxOwner } from '../../../../src/sandbox/api/sandbox.ts';
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
