import type { SandboxBackup } from '../../src/store/blobs/backups.ts';
import type { Store } from '../../src/store/store.ts';
import { newConversation, newId, useTestStore } from './support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

async function newSandbox(options: object = { backup: 'turn' }, hostId = newId('sbx')) {
  const sandboxId = newId('sbx');
  const conversationId = await newConversation(store);
  const names = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  const row = { sandboxId, conversationId, tenantId: 'default', state: 'creating' as const, hostId, options: { ...options }, ...names };
  const { fence } = await store.sandboxes.ensure(row);
  await store.sandboxes.change(sandboxId, 1, { state: 'running', containerId: 'one' });
  return { sandboxId, conversationId, hostId, place: { sandboxId, fence } };
}
const backupOf = (blobId: string): SandboxBackup => ({
  at: '2026-11-27T10:00:00.000Z',
  files: 2,
  bytes: 30,
  parts: [{ since: 0, to: 1, at: '2026-11-27T10:00:00.000Z', bytes: 30, blob: { blobId, bytes: 20, sha256: 'f'.repeat(64) } }],
});
const due = async (hostId: string) => (await store.backups.due(hostId)).map(({ sandboxId }) => sandboxId);

test('a sandbox is due when a turn has ended, and not any more when that was backed up', async () => {
  const { sandboxId, conversationId, hostId, place } = await newSandbox();
  expect(await due(hostId)).toEqual([]);
  await store.backups.want(conversationId);
  expect(await due(hostId)).toEqual([sandboxId]);
  expect(await due('another host')).toEqual([]);
  const attempt = (await store.backups.begin(sandboxId))!;
  expect(await due(hostId)).toEqual([]);
  expect(await store.backups.begin(sandboxId)).toBeUndefined();
  expect(await store.backups.finish(attempt, place, { before: undefined, backup: backupOf('blob-1') })).toBe(true);
  expect(await due(hostId)).toEqual([]);
  expect((await store.sandboxes.get(sandboxId))?.backup).toEqual(backupOf('blob-1'));
});

test('a turn that ends during a backup is due again', async () => {
  const { sandboxId, conversationId, hostId, place } = await newSandbox();
  await store.backups.want(conversationId);
  const attempt = (await store.backups.begin(sandboxId))!;
  await store.backups.want(conversationId);
  await store.backups.finish(attempt, place, { before: undefined, backup: backupOf('blob-1') });
  expect(await due(hostId)).toEqual([sandboxId]);
});

test('with a duration, one that runs is due after that time; without backups, none is', async () => {
  const timed = await newSandbox({ backup: 0 });
  expect(await due(timed.hostId)).toEqual([timed.sandboxId]);
  const later = await newSandbox({ backup: 600_000 });
  expect(await due(later.hostId)).toEqual([]);
  await store.backups.want(later.conversationId);
  expect(await due(later.hostId)).toEqual([later.sandboxId]);
  const never = await newSandbox({});
  await store.backups.want(never.conversationId);
  expect(await due(never.hostId)).toEqual([]);
});

test('one that rests is due once, one that is paused is not', async () => {
  const { sandboxId, conversationId, hostId } = await newSandbox();
  await store.backups.want(conversationId);
  const frozen = (await store.sandboxes.change(sandboxId, 2, { state: 'frozen', paused: true }))!;
  expect(await due(hostId)).toEqual([]);
  const stopped = (await store.sandboxes.change(sandboxId, frozen.generation, { state: 'stopped' }))!;
  expect(await due(hostId)).toEqual([sandboxId]);
  await store.backups.fail((await store.backups.begin(sandboxId))!, 'the store is away', 0);
  expect(await due(hostId)).toEqual([]);
  await store.sandboxes.change(sandboxId, stopped.generation, { state: 'running' });
  expect(await due(hostId)).toEqual([sandboxId]);
  expect(await store.backups.waiting(sandboxId)).toEqual({ dueAt: expect.any(String), problem: 'the store is away' });
});

test('a try that was given up long ago says nothing against a later one', async () => {
  const { sandboxId, conversationId, place } = await newSandbox();
  const early = (await store.backups.begin(sandboxId))!;
  await store.backups.release(early, 0);
  const late = (await store.backups.begin(sandboxId))!;
  await store.backups.finish(late, place, { before: undefined, backup: backupOf('blob-5') });
  await store.backups.fail(early, 'its host was away', 300_000);
  expect((await store.conversations.get(conversationId))?.status.backup).not.toHaveProperty('failing');
  expect(await store.backups.begin(sandboxId)).toBeDefined();
});

test('all files of an archived sandbox are in the blob store: nothing of it is due, whenever its last turn ended', async () => {
  const { oldestSeconds: _, ...before } = await store.backups.totals();
  const { sandboxId, conversationId, hostId } = await newSandbox();
  await store.backups.want(conversationId);
  await store.backups.fail((await store.backups.begin(sandboxId))!, 'the store is away', 0);
  const archive = { files: { blobId: 'blob-a', bytes: 1, sha256: 'f'.repeat(64) } };
  const archived = (await store.sandboxes.change(sandboxId, 2, { state: 'archived', archive }))!;
  expect((await store.conversations.get(conversationId))?.status.backup).toBeUndefined();
  expect(await store.backups.waiting(sandboxId)).toEqual({});
  expect(await store.backups.totals()).toMatchObject(before);
  await store.sandboxes.change(sandboxId, archived.generation, { state: 'running' });
  expect(await due(hostId)).toEqual([sandboxId]);
  expect((await store.conversations.get(conversationId))?.status.backup).toEqual({ due: true, failing: true });
  await store.sandboxes.remove(sandboxId);
});

test('a backup counts only for the container of the row, and in the place of the one that it was made after', async () => {
  const { sandboxId, place } = await newSandbox();
  const attempt = (await store.backups.begin(sandboxId))!;
  const finish = (change: Parameters<Store['backups']['finish']>[2], at = place) => store.backups.finish(attempt, at, change);
  expect(await finish({ before: undefined, backup: backupOf('blob-1') })).toBe(true);
  expect(await finish({ before: undefined, backup: backupOf('blob-2') })).toBe(false);
  expect(await finish({ before: 'blob-1', backup: backupOf('blob-2') })).toBe(true);
  expect(await finish({ before: 'blob-2' })).toBe(true);
  const fence = await store.sandboxes.drawFence();
  const row = (await store.sandboxes.get(sandboxId))!;
  const superseded = (await store.sandboxes.change(sandboxId, row.generation, { state: 'lost', fence }))!;
  expect(await finish({ before: 'blob-2', backup: backupOf('blob-3') })).toBe(false);
  expect(await finish({ before: 'blob-2', backup: backupOf('blob-3') }, { sandboxId, fence })).toBe(true);
  expect(await store.backups.blobIds()).toContain('blob-3');
  await store.sandboxes.change(sandboxId, superseded.generation, { state: 'destroyed' });
  expect(await finish({ before: 'blob-3', backup: backupOf('blob-4') }, { sandboxId, fence })).toBe(false);
  expect(await store.backups.blobIds()).not.toContain('blob-3');
  expect(await store.backups.drop(sandboxId)).toEqual(backupOf('blob-3'));
  expect(await store.backups.drop(sandboxId)).toBeUndefined();
});

test('the status and the totals say what is backed up, what is due and what fails', async () => {
  const before = await store.backups.totals();
  const { sandboxId, conversationId, place } = await newSandbox();
  const status = async () => (await store.conversations.get(conversationId))?.status.backup;
  expect(await status()).toBeUndefined();
  await store.backups.want(conversationId);
  expect(await status()).toEqual({ due: true });
  await store.backups.fail((await store.backups.begin(sandboxId))!, 'the store is away', 0);
  expect(await status()).toEqual({ due: true, failing: true });
  const failing = await store.backups.totals();
  expect(failing).toMatchObject({ backups: before.backups, due: before.due + 1, failing: before.failing + 1 });
  expect(failing.oldestSeconds).toBeGreaterThan(0);
  await store.backups.finish((await store.backups.begin(sandboxId))!, place, { before: undefined, backup: backupOf('blob-9') });
  expect(await status()).toEqual({ at: '2026-11-27T10:00:00.000Z', files: 2, bytes: 30 });
  expect(await store.backups.totals()).toMatchObject({ backups: before.backups + 1, bytes: before.bytes + 20, due: before.due, failing: before.failing });
});
