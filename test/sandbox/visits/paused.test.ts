import type { ConversationState } from '../../../src/contracts/conversation.ts';
import { checkVisit } from '../../../src/sandbox/visits/held.ts';
import { openVisited } from '../../../src/sandbox/visits/open-visited.ts';
import { newConversation, statusOf } from '../../store/support.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from '../lifecycle/support.ts';

let parts: TestSandboxes;
let conversationId: string;
let sandboxId: string;
let refused = 0;
beforeAll(async () => {
  parts = await createTestSandboxes();
  conversationId = await newConversation(parts.store, { state: 'idle' });
  sandboxId = `sbx_of_${conversationId}`;
  await parts.sandboxes.open({ sandboxId, tenantId: 'default', conversationId }, {});
});
afterAll(async () => parts[Symbol.asyncDispose]());

const become = (state: ConversationState) => parts.store.conversations.saveStatus(statusOf(conversationId, { state }), []);
const rowOf = async () => (await parts.store.sandboxes.get(sandboxId))!;

/** What a worker or a command line looks for a visitor. */
async function mayWake(): Promise<void> {
  try {
    await checkVisit(parts, await rowOf(), { force: false });
  } catch (error) {
    refused += 1;
    throw error;
  }
}

test('a visitor that came before a pause does not wake the sandbox during it: what it does waits', async () => {
  const { handle } = await openVisited(parts.sandboxes, await rowOf(), { mayWake });
  const { execId } = await handle.start('cat', { stdin: 'open' });
  const following = handle.attach(execId);
  await become('paused');
  expect(await parts.sandboxes.freeze(sandboxId, { mode: 'pause' })).toBe('frozen');
  refused = 0;
  const writing = handle.writeStdin(execId, 'typed\n');
  await until(async () => refused > 0, 'the visitor was not let wake it');
  const running = output(handle, 'echo goes on');
  await until(async () => refused > 1, 'a further one was not, either');
  expect((await rowOf()).state).toBe('frozen');
  await become('running');
  await parts.sandboxes.wake(sandboxId);
  await writing;
  await handle.closeStdin(execId);
  expect((await following).stdout.text).toBe('typed\n');
  expect(await running).toBe('goes on');
});

test('a pause that comes between the look and the open of a visitor holds', async () => {
  const row = await rowOf();
  await become('paused');
  await parts.sandboxes.freeze(sandboxId, { mode: 'pause' });
  await expect(openVisited(parts.another(), row, { mayWake })).rejects.toMatchObject({ code: 'SANDBOX_HELD' });
  expect((await rowOf()).state).toBe('frozen');
});
