import { createTestSandboxes, output, until, type TestSandboxes } from '../sandbox/lifecycle/support.ts';
import { runLine } from './support.ts';

/** A host that promises memory for one sandbox. */
const OPTIONS = { memoryMb: 256 };
const FULL = 'waits for 256 MB of memory: host test-host has promised 256 of 256 MB, 0 wait longer. Ctrl-C ends the wait.\n';

const before = { ...process.env };
let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
  Object.assign(process.env, { DATABASE_URL: parts.databaseUrl, LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'test-host' });
  await parts.store.hosts.beat('test-host', 60_000);
  await parts.store.fleet.describe('test-host', { version: '1', runtimes: ['runc'], memoryBytes: 4 * 2 ** 30, allowedBytes: 256 * 2 ** 20 });
});
afterAll(async () => {
  process.env = before;
  await parts[Symbol.asyncDispose]();
});

const line = (interrupt: AbortSignal, ...args: string[]) => runLine(undefined, ['sandbox', ...args], { interrupt });
const waiting = async () => (await parts.store.fleet.hosts(60_000, 'test-host'))[0]?.waiting;

test('wake and restore say what they wait for, go on when there is room, and end with Ctrl-C', async () => {
  const [resting, other] = [parts.newOwner(), parts.newOwner()];
  const { handle } = await parts.sandboxes.open(resting, OPTIONS);
  await output(handle, 'echo kept > file');
  const { snapshotId } = await parts.sandboxes.snapshot(resting.sandboxId);
  await parts.sandboxes.stop(resting.sandboxId);
  await parts.sandboxes.open(other, OPTIONS);

  const interrupt = new AbortController();
  const ended = Promise.all([line(interrupt.signal, 'restore', snapshotId), line(interrupt.signal, 'wake', resting.sandboxId)]);
  await until(async () => (await waiting()) === 2, 'both wait');
  interrupt.abort();
  const cut = { code: 130, out: '', err: expect.stringContaining('Ctrl-C ends the wait') as string };
  expect(await ended).toEqual([cut, cut]);
  expect((await parts.store.sandboxes.list({ states: ['stopped'] })).map(({ sandboxId }) => sandboxId)).toEqual([resting.sandboxId]);
  await parts.store.roomQueue.leave(resting.sandboxId);

  const calm = new AbortController().signal;
  const waking = line(calm, 'wake', resting.sandboxId);
  await until(async () => (await waiting()) === 1, 'it waits');
  await parts.sandboxes.destroy(other.sandboxId);
  expect(await waking).toEqual({ code: 0, out: `${resting.sandboxId}: running.\n`, err: `It ${FULL}` });
  const restoring = line(calm, 'restore', snapshotId);
  await until(async () => (await waiting()) === 1, 'it waits');
  await parts.sandboxes.stop(resting.sandboxId);
  const { code, out, err } = await restoring;
  expect([code, err]).toEqual([0, expect.stringContaining(FULL)]);
  const copy = await parts.sandboxes.open({ sandboxId: out.trim(), tenantId: 'tenant' }, {});
  expect(await output(copy.handle, 'cat file')).toBe('kept');
});
