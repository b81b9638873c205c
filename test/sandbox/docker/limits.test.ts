import type { SandboxHandle } from '../../../src/sandbox/sandbox.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from './support.ts';

let parts: TestSandboxes;
let handle: SandboxHandle;
let neighbour: SandboxHandle;
beforeAll(async () => {
  parts = await createTestSandboxes();
  ({ handle } = await parts.sandboxes.open({ sandboxId: 'sbx_limits', tenantId: 't' }, { memoryMb: 128, pids: 64, cpus: 0.5 }));
  ({ handle: neighbour } = await parts.sandboxes.open(parts.newOwner(), {}));
});
afterAll(() => parts[Symbol.asyncDispose]());

test('a command that uses up the memory is ended, and its result says why', async () => {
  expect(await handle.run(`python3 -c 'x = bytearray(1 << 30)'`)).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'memory' });
  expect(await handle.run(`bash -c 'python3 -c "x = bytearray(1 << 30)"; exit 3'`)).toMatchObject({ exitCode: 3, limit: 'memory' });
  const later = await handle.run('exit 1');
  expect(later).toMatchObject({ exitCode: 1 });
  expect(later).not.toHaveProperty('limit');
});

test('a fork bomb ends with its command, and neither its sandbox nor a neighbour is harmed', async () => {
  const bomb = handle.run('bomb() { bomb | bomb & }; bomb; sleep 60', { timeoutMs: 2000 });
  expect(await output(neighbour, 'echo working')).toBe('working');
  expect(await bomb).toMatchObject({ status: 'timeout' });
  await until(async () => (await handle.run('true').catch(() => ({ exitCode: 1 }))).exitCode === 0, 'the sandbox answers again');
  await until(async () => Number(await output(handle, 'pgrep -u user -c .')) < 5, 'nothing of the bomb is left');
});

test('open files and processors are limited', async () => {
  expect(await output(handle, 'ulimit -Sn; ulimit -Hn; ulimit -c')).toBe('4096\n8192\n0');
  const opened = `python3 -c "
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
held = []
try:
    while True: held.append(open('/dev/null'))
except OSError as error: print(error.strerror, len(held) < 8192)"`;
  expect(await output(handle, opened)).toBe('Too many open files True');
  expect((await handle.run('ulimit -Hn 100000')).exitCode).not.toBe(0);
  const { HostConfig } = await parts.docker.getContainer(parts.containerName('sbx_limits')).inspect();
  expect(HostConfig.NanoCpus).toBe(0.5e9);
});

const FILL = 'dd if=/dev/zero bs=1M count=4000 status=none | { dd of=big bs=1M status=none; sleep 60; }';

test.each([
  ['a file', FILL],
  ['many files', 'mkdir many; while i=$((i+1)); do head -c 4M /dev/zero > many/$i; done'],
  ['a directory that is closed to itself', `mkdir closed; cd closed; exec 3> big; chmod 0 ../closed; head -c 400M /dev/zero >&3; sleep 60`],
  ['a file without a name', `exec 3> gone; rm gone; head -c 400M /dev/zero >&3; sleep 60`],
])('a command that fills the disk with %s is ended, and its result says why', async (_what, command) => {
  const owner = parts.newOwner();
  const { handle: full } = await parts.sandboxes.open(owner, { diskMb: 64 });
  expect(await full.run(command, { timeoutMs: 40_000 })).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
  // Overfull as it is, it can be cleared up.
  expect(await output(full, 'chmod -R u+rwx . ; rm -rf big many closed; ls; sleep 1.2; echo fine')).toBe('fine');
  expect(await output(neighbour, 'echo working')).toBe('working');
  await parts.sandboxes.destroy(owner.sandboxId);
});

test('a flood of output is counted, and neither kept nor carried whole', async () => {
  const before = process.memoryUsage().rss;
  const { stdout, limit } = await handle.run('head -c 300M /dev/zero', { maxOutputBytes: 1024 * 1024 });
  expect(limit).toBeUndefined();
  expect(stdout.totalBytes).toBe(300 * 1024 * 1024);
  expect(stdout.text.length).toBeLessThan(32 * 1024);
  expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
});
