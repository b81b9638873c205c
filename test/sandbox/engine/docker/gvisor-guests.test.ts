import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, describeWithGvisor, output, type TestSandboxes } from '../../lifecycle/support.ts';

/** Engines' profiles of system calls do not reach into gVisor, whose own kernel answers: what of it could reach the host has to be missing there. */
describeWithGvisor('a guest in gVisor', () => {
  let parts: TestSandboxes;
  let handle: SandboxHandle;
  beforeAll(async () => {
    parts = await createTestSandboxes();
    ({ handle } = await parts.sandboxes.open(parts.newOwner(), { diskMb: 64, memoryMb: 512, runtime: 'runsc' }));
  });
  afterAll(() => parts[Symbol.asyncDispose]());
  afterEach(() => handle.run('find . -mindepth 1 -delete', { timeoutMs: 60_000 }));

  test('gets none of the calls that reach far into a kernel', async () => {
    const program = `
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == 'x86_64'
for name, x86, other, *values in (('io_uring_setup', 425, 425, 8, 0), ('io_uring_enter', 426, 426, 0, 0, 0, 0, 0, 0), ('io_uring_register', 427, 427, 0, 0, 0, 0),
    ('userfaultfd', 323, 282, 0), ('bpf', 321, 280, 0, 0, 0), ('perf_event_open', 298, 241, 0, 0, 0, 0, 0), ('add_key', 248, 217, 0, 0, 0, 0, 0),
    ('request_key', 249, 218, 0, 0, 0, 0), ('keyctl', 250, 219, 0, 0xffffffff), ('socket', 41, 198, 40, 1, 0), ('mount', 165, 40, 0, 0, 0, 0, 0),
    ('ptrace', 101, 117, 16, 1, 0, 0)):
    if libc.syscall(x86 if X86 else other, *map(ctypes.c_ulong, values)) >= 0: print(name, 'works')
print('done')`;
    expect(await output(handle, `cat > /tmp/probe.py <<'END'\n${program}\nEND\npython3 /tmp/probe.py`)).toBe('done');
  });

  test('gets no bytes by fallocate', async () => {
    const { stdout } = await handle.run('for n in $(seq 5); do fallocate -l 60M f$n 2>/dev/null; echo $?; done; du -sk . | cut -f1');
    expect(stdout.text.split('\n').slice(0, 5)).toEqual(['1', '1', '1', '1', '1']);
    expect(Number(stdout.text.split('\n')[5])).toBeLessThan(1024);
  });

  test.each([
    ['files without a name', `for n in range(20): held.append(open('x', 'wb')); os.unlink('x'); held[-1].write(bytes(20 << 20)); held[-1].flush()`],
    ['many files', `for n in range(400000):\n    if n % 1000 == 0: os.mkdir(f'd{n}')\n    os.mknod(f'd{n // 1000 * 1000}/{n}')`],
  ])(
    'is ended when it fills the disk with %s',
    async (_what, program) => {
      const command = `cat > /tmp/fill.py <<'END'\nimport os, time\nheld = []\n${program}\ntime.sleep(60)\nEND\nexec python3 /tmp/fill.py`;
      expect(await handle.run(command, { timeoutMs: 50_000 })).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
    },
    300_000,
  );

  test('may have as many processes as its limit says', async () => {
    const { handle: many } = await parts.sandboxes.open(parts.newOwner(), { runtime: 'runsc', pids: 256, memoryMb: 2048 });
    const { stdout, stderr } = await many.run('for n in $(seq 240); do sleep 20 & done; sleep 1; pgrep -c sleep', { timeoutMs: 60_000 });
    expect(stderr.text).toBe('');
    expect(Number(stdout.text.trim().split('\n').at(-1))).toBeGreaterThanOrEqual(240);
    expect(await output(many, 'echo works')).toBe('works');
  }, 300_000);

  test('that makes more processes than its limit is told so, or ends with its command, and its sandbox goes on', async () => {
    const { handle: many } = await parts.sandboxes.open(parts.newOwner(), { runtime: 'runsc', pids: 256, memoryMb: 2048 });
    await many.run('for n in $(seq 400); do sleep 15 & done; wait', { timeoutMs: 10_000 });
    expect(await output(many, 'echo works')).toBe('works');
  }, 300_000);
});
