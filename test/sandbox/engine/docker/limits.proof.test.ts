import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from '../../lifecycle/support.ts';
import { taken } from './taken.ts';

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

test.each([undefined, 'kept'])('code that uses up the memory is ended, and its result says why (context: %s)', async (contextId) => {
  const of = { language: 'python', ...(contextId !== undefined && { contextId }) } as const;
  expect(await handle.runCode(`x = bytearray(b'x') * (1 << 30)`, of)).toMatchObject({ status: 'gone', limit: 'memory' });
  const later = await handle.runCode('1 / 0', of);
  expect(later).toMatchObject({ status: 'failed' });
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
  expect(await full.run(command, { timeoutMs: 200_000 })).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
  // Overfull as it is, it can be cleared up.
  expect(await output(full, 'chmod -R u+rwx . ; rm -rf big many closed; ls; sleep 1.2; echo fine')).toBe('fine');
  expect(await output(neighbour, 'echo working')).toBe('working');
  await parts.sandboxes.destroy(owner.sandboxId);
});

test('what a neighbour writes to the same storage is not held against a sandbox with a limit', async () => {
  const owner = parts.newOwner();
  const { handle: small } = await parts.sandboxes.open(owner, { diskMb: 64 });
  // The storage is looked at several times in this time.
  const working = small.run('sleep 3; echo fine');
  await output(neighbour, 'head -c 300M /dev/zero > big');
  expect((await working).stdout.text).toBe('fine\n');
  await output(neighbour, 'rm big');
  await parts.sandboxes.destroy(owner.sandboxId);
});

describe('a guest that wants more disk than it has', () => {
  const LIMIT_MB = 64;
  let full: SandboxHandle;
  const { sandboxId, tenantId } = { sandboxId: 'sbx_full', tenantId: 't' };
  beforeAll(async () => {
    ({ handle: full } = await parts.sandboxes.open({ sandboxId, tenantId }, { diskMb: LIMIT_MB, memoryMb: 512 }));
  });
  afterEach(() => full.run('chmod -R u+rwx .; find . -mindepth 1 -delete', { timeoutMs: 200_000 }));

  test('gets nothing by fallocate, neither from the shell nor from Python, whatever it asks for', async () => {
    const { stdout } = await full.run(`fallocate -l 6G big; echo $?; python3 -c "
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open('other', os.O_CREAT | os.O_RDWR)
for mode in (0, 1, 2, 3, 8, 16, 32, 64):
    assert libc.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(1 << 20)) == -1 and ctypes.get_errno() == errno.EOPNOTSUPP, mode"; echo $?`);
    expect(stdout.text).toBe('1\n0\n');
    expect((await taken(parts, sandboxId)).bytes).toBeLessThan(2 ** 20);
  });

  test('writes no file larger than its limit, not a sparse one either, and cannot raise that; the result names the disk', async () => {
    expect(await full.run(`truncate -s ${LIMIT_MB + 1}M sparse`)).toMatchObject({ limit: 'disk' });
    expect(await full.run(`exec dd if=/dev/zero of=big bs=1M seek=${LIMIT_MB} count=1`)).toMatchObject({ signal: 'SIGXFSZ', limit: 'disk' });
    expect((await full.run('ulimit -f unlimited')).exitCode).not.toBe(0);
    expect((await full.run(`python3 -c "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))"`)).exitCode).not.toBe(0);
    const code = await full.runCode(`open('sparse', 'wb').truncate(${(LIMIT_MB + 1) * 2 ** 20})`, { language: 'python' });
    expect(JSON.stringify(code)).toContain('File too large');
    expect(await full.run(`truncate -s ${LIMIT_MB}M sparse && stat -c %s sparse`)).toMatchObject({ exitCode: 0 });
    await expect(full.writeFile('/home/user/whole', Buffer.alloc((LIMIT_MB + 1) * 2 ** 20))).rejects.toMatchObject({ code: 'FILE_FAILED' });
  });

  test('is ended at too many files, and can remove them', async () => {
    const command = `python3 -c "
import os
for d in range(10000):
    os.mkdir(f'd{d}')
    for n in range(100): os.mknod(f'd{d}/{n}')"`;
    expect(await full.run(command, { timeoutMs: 200_000 })).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
    expect((await taken(parts, sandboxId)).files).toBeLessThan(200_000);
    expect(await full.run('find . -mindepth 1 -delete', { timeoutMs: 200_000 })).toMatchObject({ exitCode: 0 });
    expect(await output(full, 'echo fine > fine; cat fine')).toBe('fine');
  }, 600_000);

  test('writes nothing while it is over its limit, however often it tries, and makes room by itself', async () => {
    const { limit } = await full.run('for n in $(seq 20); do head -c 20M /dev/zero > $n; done; sleep 60', { timeoutMs: 200_000 });
    expect(limit).toBe('disk');
    const before = await taken(parts, sandboxId);
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await full.run('head -c 50M /dev/zero > more')).toMatchObject({ limit: 'disk' });
    await expect(full.writeFile('/home/user/more', 'x')).rejects.toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('64 MB') });
    expect((await taken(parts, sandboxId)).bytes - before.bytes).toBeLessThan(2 ** 20);
    expect(await output(full, 'ls | wc -l; echo working')).toMatch(/working/);
    await full.removeFile('/home/user/1');
    expect(await output(full, 'rm -f [0-9]*; ls')).toBe('more');
    await full.writeFile('/home/user/more', 'x');
    expect(await full.run('head -c 10M /dev/zero > more && stat -c %s more')).toMatchObject({ exitCode: 0 });
  }, 600_000);

  test('has its writable container counted, without what came with the image', async () => {
    const { handle: writable } = await parts.sandboxes.open(parts.newOwner(), { diskMb: LIMIT_MB, readOnlyRoot: false });
    expect(await writable.run('head -c 10M /dev/zero > /var/tmp/little; sleep 1.5')).toMatchObject({ exitCode: 0 });
    const command = 'for n in $(seq 20); do head -c 20M /dev/zero > /var/tmp/$n; done; sleep 60';
    expect(await writable.run(command, { timeoutMs: 200_000 })).toMatchObject({ signal: 'SIGKILL', limit: 'disk' });
    await writable.run('rm /var/tmp/*');
    expect(await output(writable, 'echo fine > fine; cat fine')).toBe('fine');
  }, 600_000);

  test('finds all other places sized', async () => {
    for (const place of ['/tmp', '/dev/shm'])
      expect(await output(full, `head -c 400M /dev/zero > ${place}/big; stat -c %s ${place}/big; rm ${place}/big`)).toMatch(/^\d{1,9}$/);
  });
});

test('a flood of output is counted, and neither kept nor carried whole', async () => {
  const before = process.memoryUsage().rss;
  const { stdout, limit } = await handle.run('head -c 300M /dev/zero', { maxOutputBytes: 1024 * 1024 });
  expect(limit).toBeUndefined();
  expect(stdout.totalBytes).toBe(300 * 1024 * 1024);
  expect(stdout.text.length).toBeLessThan(32 * 1024);
  expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
});
