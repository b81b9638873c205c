import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, output, type TestSandboxes } from '../../lifecycle/support.ts';
import { taken } from './taken.ts';

describe('a guest that takes more disk than it has, in every way that is known,', () => {
  const { sandboxId, tenantId } = { sandboxId: 'sbx_full', tenantId: 't' };
  let parts: TestSandboxes;
  let full: SandboxHandle;
  beforeAll(async () => {
    parts = await createTestSandboxes();
    ({ handle: full } = await parts.sandboxes.open({ sandboxId, tenantId }, { diskMb: 64, memoryMb: 512 }));
  });
  afterEach(() => full.run('chmod -R u+rwx .; find . -mindepth 1 -delete', { timeoutMs: 200_000 }));
  afterAll(() => parts[Symbol.asyncDispose]());

  test.each([
    [
      'names of one file',
      `python3 -c "
import os
for d in range(1000):
    os.mkdir(f'd{d}'); os.mknod(f'd{d}/0')
    for n in range(1, 2000): os.link(f'd{d}/0', f'd{d}/{n}')"`,
    ],
    [
      'files deeper than any path is long',
      `python3 -c "
import os
for n in range(3000): os.mkdir('d'); os.chdir('d')
for n in range(1000000): os.mknod(str(n))"`,
    ],
  ])(
    'is ended at too many files (%s), and can remove them',
    async (_what, command) => {
      // Names that take no inode are found by the regular count alone, for which at most a tenth of the time is spent: on a busy machine that takes a while.
      expect(await full.run(command, { timeoutMs: 200_000 })).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
      expect((await taken(parts, sandboxId)).files).toBeLessThan(200_000);
      expect(await full.run('find . -mindepth 1 -delete', { timeoutMs: 200_000 })).toMatchObject({ exitCode: 0 });
      expect(await output(full, 'echo fine > fine; cat fine')).toBe('fine');
    },
    600_000,
  );

  test('is ended within about a second, wherever its bytes are: deep below, in a file without a name, with code, in the background', async () => {
    const attempts = [
      `for n in $(seq 30); do mkdir ${'d'.repeat(200)}; cd ${'d'.repeat(200)}; done; for n in $(seq 20); do head -c 20M /dev/zero > $n; done; sleep 60`,
      `exec python3 -c "
import os, time
held = [open(f'gone{n}', 'wb') for n in range(20)]
for n in range(20): os.unlink(f'gone{n}'); held[n].write(bytes(20 << 20)); held[n].flush()
time.sleep(60)"`,
      `(setsid bash -c 'for n in $(seq 20); do head -c 20M /dev/zero > $n; done; sleep 60' & ) ; sleep 60`,
    ];
    for (const command of attempts) {
      expect(await full.run(command, { timeoutMs: 200_000 })).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
      await full.run('find . -mindepth 1 -delete');
    }
  }, 600_000);

  test.each([
    [
      'files without a name whose descriptors are on their way through sockets',
      `import array, socket
for n in range(20):
    pair = socket.socketpair()
    file = open('x', 'w+b'); os.unlink('x'); file.write(bytes(20 << 20)); file.flush()
    pair[0].sendmsg([b'1'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file.fileno()]))])
    file.close(); held.append(pair)`,
    ],
    [
      'files without a name that are only mapped',
      `import ctypes
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p; libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for n in range(20):
    file = open('x', 'w+b'); os.unlink('x'); file.write(bytes(20 << 20)); file.flush()
    assert libc.mmap(None, 20 << 20, 1, 1, file.fileno(), 0) > 0
    file.close()`,
    ],
    [
      'files made without a name, and sparse ones that are filled through a mapping',
      `import mmap
for n in range(20):
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600) if n % 2 else os.open(f's{n}', os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, 20 << 20); held.append(mmap.mmap(fd, 20 << 20))
    for page in range(0, 20 << 20, 4096): held[-1][page] = 1`,
    ],
    [
      'copies that the kernel makes',
      `open('from', 'wb').write(bytes(20 << 20)); source = os.open('from', os.O_RDONLY)
for n in range(20):
    target = os.open(f'c{n}', os.O_CREAT | os.O_WRONLY); at = 0
    while at < 20 << 20: at += os.copy_file_range(source, target, (20 << 20) - at, at, at)`,
    ],
    [
      'files without a name that only a thread holds, in a table of descriptors of its own',
      `import ctypes, threading
def work():
    ctypes.CDLL(None).unshare(0x400)
    for n in range(20):
        fd = os.open('t', os.O_CREAT | os.O_RDWR, 0o600); os.unlink('t'); os.write(fd, bytes(20 << 20))
    time.sleep(60)
threading.Thread(target=work).start()`,
    ],
    [
      'files without a name of a process whose first thread has ended',
      `import ctypes, platform, threading
def work():
    for n in range(20):
        fd = os.open('t', os.O_CREAT | os.O_RDWR, 0o600); os.unlink('t'); os.write(fd, bytes(20 << 20)); time.sleep(0.05)
    time.sleep(60)
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(93 if platform.machine() == 'aarch64' else 60, 0)`,
    ],
    ['empty directories', 'for n in range(1000000): os.mkdir(f"d{n}")'],
    [
      'files without a name of a process that does not let itself be looked at',
      `import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for n in range(20):
    held.append(open('x', 'w+b')); os.unlink('x'); held[-1].write(bytes(20 << 20)); held[-1].flush()`,
    ],
    [
      'a program without a name that runs',
      `import subprocess
for n in range(20):
    with open('x', 'wb') as file: file.write(open('/bin/sleep', 'rb').read() + bytes(20 << 20))
    os.chmod('x', 0o700); held.append(subprocess.Popen(['./x', '60'])); time.sleep(0.05); os.unlink('x')`,
    ],
  ])(
    'is ended with %s',
    async (_what, program) => {
      const command = `cat > /tmp/fill.py <<'END'\nimport os, time\nheld = []\n${program}\ntime.sleep(60)\nEND\nexec python3 /tmp/fill.py`;
      const result = await full.run(command, { timeoutMs: 200_000 });
      expect(result).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
      expect(await full.run('find . -mindepth 1 -delete', { timeoutMs: 200_000 })).toMatchObject({ status: 'exited', exitCode: 0 });
      // A directory that held many others stays large itself.
      expect((await taken(parts, sandboxId)).bytes).toBeLessThan(8 * 2 ** 20);
      expect(await output(full, 'echo fine > fine; cat fine')).toBe('fine');
    },
    600_000,
  );
});
