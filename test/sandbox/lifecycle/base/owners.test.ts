import { checkId } from '../../../../src/client/start-conversation.ts';
import { sandboxIdOf } from '../../../../src/contracts/ids.ts';
import { createTestSandboxes, output, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

test.each([
  ['of another tenant', 'SANDBOX_NOT_FOUND', { tenantId: 'other', conversationId: 'conv_other' }],
  ['of another tenant, without a conversation', 'SANDBOX_NOT_FOUND', { tenantId: 'other' }],
  ['of the same tenant', 'SANDBOX_IN_USE', { tenantId: 'tenant', conversationId: 'conv_other' }],
])('the sandbox of a conversation is not opened for another owner who has come to its id: %s', async (_who, code, other) => {
  const { sandboxId, tenantId } = parts.newOwner();
  const owner = { sandboxId, tenantId, conversationId: `conv_of_${sandboxId}` };
  await parts.sandboxes.open(owner, {});
  for (const sandboxes of [parts.sandboxes, parts.another()]) await expect(sandboxes.open({ sandboxId, ...other }, {})).rejects.toMatchObject({ code });
  const { handle } = await parts.sandboxes.open(owner, {});
  expect(await output(handle, 'echo mine')).toBe('mine');
});

test('a sandbox without a conversation is not taken by one that has come to its id', async () => {
  const owner = parts.newOwner();
  await parts.sandboxes.open(owner, {});
  await expect(parts.sandboxes.open({ ...owner, conversationId: 'conv_any' }, {})).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
});

test('the sandbox of a conversation with the longest id that a caller may choose is made, and does its work', async () => {
  const conversationId = 'c'.repeat(128);
  checkId(conversationId);
  const owner = { sandboxId: sandboxIdOf(conversationId), tenantId: 'tenant', conversationId };
  const { handle } = await parts.sandboxes.open(owner, {});
  expect(await output(handle, 'echo yes')).toBe('yes');
  expect(await parts.sandboxes.stop(owner.sandboxId)).toBe('stopped');
  expect(await output(handle, 'echo again')).toBe('again');
});
