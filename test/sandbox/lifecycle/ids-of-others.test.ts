import { sandboxIdOf } from '../../../src/contracts/ids.ts';
import type { SandboxOwner } from '../../../src/sandbox/api/sandbox.ts';
import { openVisited } from '../../../src/sandbox/visits/open-visited.ts';
import { createTestSandboxes, output, type TestSandboxes } from './support.ts';

const OPTIONS = { memoryMb: 256 };
const HOUR_MS = 3_600_000;

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

function ownerOf(conversationId: string, tenantId: string): SandboxOwner & { conversationId: string } {
  return { sandboxId: sandboxIdOf(conversationId), conversationId, tenantId };
}

test('a conversation whose id gives the sandbox id of another one gets a sandbox of its own, and finds it again', async () => {
  const { sandboxes, store } = parts;
  const [first, second] = [ownerOf('conv_twin', 'one'), ownerOf('twin', 'another')];
  expect(second.sandboxId).toBe(first.sandboxId);
  const { handle } = await sandboxes.open(first, OPTIONS);
  await handle.run('echo secret > note');
  const other = (await sandboxes.open(second, OPTIONS)).handle;
  expect(await output(other, 'cat note 2>/dev/null || echo none')).toBe('none');
  await other.run('echo mine > note');
  expect(await store.sandboxes.ofConversation('twin')).toMatchObject({ sandboxId: other.sandboxId, tenantId: 'another' });
  for (const worker of [sandboxes, parts.another()]) {
    expect(await output((await worker.open(second, OPTIONS)).handle, 'cat note')).toBe('mine');
    expect(await output((await worker.open(first, OPTIONS)).handle, 'cat note')).toBe('secret');
  }
});

test('a conversation does not go on in what an import under its id has left', async () => {
  const { sandboxes, store } = parts;
  const owner = ownerOf('conv_again', 'one');
  const { sandboxId } = owner;
  // As after an import that was refused when its files had been unpacked.
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'one', ttlMs: HOUR_MS }, OPTIONS);
  await handle.run('echo earlier > note');
  const own = (await sandboxes.open(owner, OPTIONS)).handle;
  expect(await output(own, 'cat note 2>/dev/null || echo none')).toBe('none');
  const row = await store.sandboxes.ofConversation('conv_again');
  expect(row).toMatchObject({ sandboxId: own.sandboxId });
  expect(row?.expiresAt).toBeUndefined();
});

test('a visitor of a sandbox that has another owner by now makes no other one', async () => {
  const { sandboxes, store } = parts;
  const owner = ownerOf('conv_former', 'one');
  await sandboxes.open(owner, OPTIONS);
  const row = (await store.sandboxes.get(owner.sandboxId))!;
  await store.sandboxes.remove(owner.sandboxId);
  await sandboxes.open({ sandboxId: owner.sandboxId, tenantId: 'one' }, OPTIONS);
  await expect(openVisited(sandboxes, row)).rejects.toMatchObject({ code: 'SANDBOX_CONFLICT' });
  expect(await store.sandboxes.ofConversation('conv_former')).toBeUndefined();
});

test('a copy for such a conversation is made, and is made once', async () => {
  const { sandboxes, store } = parts;
  const source = ownerOf('conv_source', 'another');
  const { handle } = await sandboxes.open(source, OPTIONS);
  await handle.run('echo copied > note');
  const owner = ownerOf('twin_copy', 'another');
  await sandboxes.open(ownerOf('conv_twin_copy', 'one'), OPTIONS);
  await sandboxes.copyTo(source.sandboxId, { owner });
  const made = await store.sandboxes.ofConversation('twin_copy');
  await sandboxes.copyTo(source.sandboxId, { owner });
  expect(await store.sandboxes.ofConversation('twin_copy')).toEqual({ ...made, idleMs: expect.any(Number) });
  const copy = (await sandboxes.open(owner, OPTIONS)).handle;
  expect(copy.sandboxId).toBe(made?.sandboxId);
  expect(await output(copy, 'cat note')).toBe('copied');
});

test('a conversation with the longest id has a sandbox', async () => {
  const owner = ownerOf('c'.repeat(128), 'one');
  const { handle } = await parts.sandboxes.open(owner, OPTIONS);
  expect(await output(handle, 'echo here')).toBe('here');
  expect((await parts.sandboxes.open(owner, OPTIONS)).handle.sandboxId).toBe(handle.sandboxId);
});
