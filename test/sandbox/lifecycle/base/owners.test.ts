import { createTestSandboxes, output, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

test('the sandbox of another tenant is not opened by its id, nor is it the copy that was asked for', async () => {
  const { sandboxId, tenantId } = parts.newOwner();
  const owner = { sandboxId, tenantId, conversationId: `conv_of_${sandboxId}` };
  await parts.sandboxes.open(owner, {});
  const source = parts.newOwner();
  await parts.sandboxes.open(source, {});
  const other = { sandboxId, tenantId: 'other' };
  for (const sandboxes of [parts.sandboxes, parts.another()]) {
    await expect(sandboxes.open(other, {})).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    await expect(sandboxes.copyTo(source.sandboxId, { owner: other })).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  }
  const { handle } = await parts.sandboxes.open(owner, {});
  expect(await output(handle, 'echo mine')).toBe('mine');
});
