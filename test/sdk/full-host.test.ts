import { open, store, useSandboxes } from './sandboxes.ts';

useSandboxes();

const HOST = 'test-host/local';
const waiting = async () => (await store.fleet.hosts(60_000, HOST))[0]?.waiting;

test('an open that is aborted while it waits for memory leaves the queue, so that others do not wait behind it', async () => {
  await store.hosts.beat(HOST, 60_000);
  await store.fleet.describe(HOST, { version: '1', runtimes: [], allowedBytes: 512 * 2 ** 20 });
  await using _first = await open({ memoryMb: 256 });
  const patience = new AbortController();
  const large = open({ memoryMb: 512, signal: patience.signal });
  const ended = expect(large).rejects.toMatchObject({ code: 'INTERRUPTED' });
  while ((await waiting()) !== 1) await new Promise((resolve) => setTimeout(resolve, 20));
  patience.abort();
  await ended;
  expect(await waiting()).toBe(0);
  await using small = await open({ memoryMb: 256 });
  expect((await small.run('echo runs')).stdout.text).toBe('runs\n');
}, 60_000);
