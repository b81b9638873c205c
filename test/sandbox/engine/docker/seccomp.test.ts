import type Docker from 'dockerode';
import { helperOptions } from '../../../../src/sandbox/engine/docker/container-options.ts';
import { createCopyJobs } from '../../../../src/sandbox/engine/docker/copy-jobs.ts';
import { SECCOMP_OPTION, seccompProfile } from '../../../../src/sandbox/engine/docker/seccomp/profile.ts';
import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, output, type TestSandboxes } from '../../lifecycle/support.ts';

/** Numbers of the calls that are tried: on x86-64, and as all newer architectures have them. */
const NUMBERS = `
import ctypes, errno, os, platform, sys
X86 = platform.machine() == 'x86_64'
N = {name: (x86 if X86 else other) for name, x86, other in (
    ('fallocate', 285, 47), ('clone3', 435, 435), ('io_uring_setup', 425, 425), ('io_uring_enter', 426, 426), ('io_uring_register', 427, 427),
    ('socket', 41, 198), ('socketpair', 53, 199), ('userfaultfd', 323, 282), ('bpf', 321, 280), ('perf_event_open', 298, 241), ('add_key', 248, 217),
    ('request_key', 249, 218), ('keyctl', 250, 219), ('unshare', 272, 97), ('setns', 308, 268), ('mount', 165, 40), ('umount2', 166, 39),
    ('pivot_root', 155, 41), ('open_tree', 428, 428), ('move_mount', 429, 429), ('fsopen', 430, 430), ('mount_setattr', 442, 442), ('clone', 56, 220),
    ('fanotify_init', 300, 262), ('open_by_handle_at', 304, 265), ('kexec_load', 246, 104), ('init_module', 175, 105), ('finit_module', 313, 273),
    ('delete_module', 176, 106), ('swapon', 167, 224), ('reboot', 169, 142), ('syslog', 103, 116), ('acct', 163, 89), ('quotactl', 179, 60),
    ('pidfd_getfd', 438, 438), ('personality', 135, 92), ('settimeofday', 164, 170), ('getpid', 39, 172), ('sethostname', 170, 161))}
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *values):
    ctypes.set_errno(0)
    found = libc.syscall(N[name], *(ctypes.c_ulong(value) for value in values))
    return 'works' if found >= 0 else errno.errorcode[ctypes.get_errno()]
`;

const run = (program: string) => `cat > /tmp/probe.py <<'END'\n${NUMBERS}${program}\nEND\npython3 /tmp/probe.py`;

describe('the profile', () => {
  test('is that of every container that Longshore starts, not only of sandboxes', async () => {
    const helper = helperOptions({ name: 'n', image: 'i', labels: {}, runtime: { name: 'runc' } });
    expect(helper.HostConfig?.SecurityOpt).toContain(SECCOMP_OPTION);
    const seen: Docker.ContainerCreateOptions[] = [];
    const docker = {
      createContainer: (options: Docker.ContainerCreateOptions) => (seen.push(options), Promise.reject(new Error('seen'))),
    } as unknown as Docker;
    const jobs = createCopyJobs({ docker, image: 'i', installation: 'x', dataDirectory: async () => '/var/lib/docker' });
    await expect(jobs.copy({ volume: 'a' }, { volume: 'b' })).rejects.toThrow('seen');
    expect(seen[0]?.HostConfig?.SecurityOpt).toContain(SECCOMP_OPTION);
  });

  test('permits each call once, and none of those that it is about', () => {
    const { syscalls, archMap } = seccompProfile();
    const plain = syscalls.filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined).flatMap(({ names }) => names);
    expect(plain).toHaveLength(new Set(plain).size);
    for (const name of plain) expect(name).toMatch(/^[a-z_0-9]+$/);
    const refused = 'io_uring_setup userfaultfd keyctl bpf mount umount2 unshare setns clone clone3 socket socketpair socketcall personality fallocate';
    for (const name of refused.split(' ')) expect(plain).not.toContain(name);
    expect(archMap.map(({ architecture }) => architecture)).toEqual(['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64', 'SCMP_ARCH_RISCV64']);
  });
});

describe('a guest behind the profile', () => {
  let parts: TestSandboxes;
  let handle: SandboxHandle;
  beforeAll(async () => {
    parts = await createTestSandboxes();
    ({ handle } = await parts.sandboxes.open(parts.newOwner(), { memoryMb: 512 }));
  });
  afterAll(() => parts[Symbol.asyncDispose]());

  test('is told by fallocate and io_uring that there is no such thing, and by what would let it out that it may not', async () => {
    const answers = await output(
      handle,
      run(`
fd = os.open('/home/user/fallocated', os.O_RDWR | os.O_CREAT)
print(call('getpid'), call('fallocate', fd, 0, 0, 1 << 32), call('fallocate', fd, 3, 0, 4096), os.stat('/home/user/fallocated').st_blocks)
print(*{call('io_uring_setup', 8, 0), call('io_uring_enter', 0, 0, 0, 0, 0, 0), call('io_uring_register', 0, 0, 0, 0), call('clone3', 0, 0)})
print(*{call(name, *(0,) * 6) for name in ('userfaultfd', 'bpf', 'perf_event_open', 'add_key', 'request_key', 'keyctl', 'unshare', 'setns', 'mount', 'umount2',
    'pivot_root', 'open_tree', 'move_mount', 'fsopen', 'mount_setattr', 'fanotify_init', 'open_by_handle_at', 'kexec_load', 'init_module', 'finit_module',
    'delete_module', 'swapon', 'reboot', 'syslog', 'acct', 'quotactl', 'pidfd_getfd', 'settimeofday', 'sethostname')})
print(*{call('unshare', 1 << bit) for bit in range(64)}, *{call('clone', flag | 17, 0, 0, 0, 0) for flag in
    (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x7e020000)})
print(call('personality', 0x40000), call('personality', 0x0400000), call('personality', 0xffffffff))`),
    );
    expect(answers.split('\n')).toEqual(['works ENOTSUP ENOTSUP 0', 'ENOSYS', 'EPERM', 'EPERM EPERM', 'EPERM EPERM works']);
  });

  test('makes sockets of the four usual families only, whatever the upper bits say', async () => {
    const program = `
works = [family for family in range(64) for kind in (1, 2, 3) if call('socket', family, kind, 0) == 'works']
print(sorted(set(works)))
print({call('socket', (high << 32) | 40, 1, 0) for high in (0, 1, 1 << 31)}, {call('socket', 40, kind, 0) for kind in (1, 2, 5)})
pair = (ctypes.c_int * 2)()
print(call('socketpair', 1, 1, 0, ctypes.addressof(pair)), {call('socketpair', family, 1, 0, ctypes.addressof(pair)) for family in (2, 16, 30, 40)})`;
    expect(await output(handle, run(program))).toBe("[1, 2, 10, 16]\n{'EPERM'} {'EPERM'}\nworks {'EPERM'}");
  });

  test('finds no other door to the kernel: neither as a 32-bit program nor as an x32 one', async () => {
    const program = `
import mmap, struct, subprocess
if not X86: print('works {} True'); sys.exit()
# Below 4 GB, where 32-bit pointers reach.
code = mmap.mmap(-1, 4096, flags=0x22 | 0x40, prot=7)
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
code[2048:2060] = struct.pack('<3I', 40, 1, 0)
def call32(number, *values):
    # push rbx; mov eax; mov ebx; mov ecx; mov edx; int 0x80; pop rbx; ret
    low = [value & 0xffffffff for value in (*values, 0, 0, 0)[:3]]
    code.seek(0); code.write(b'\\x53\\xb8' + struct.pack('<I', number) + b'\\xbb' + struct.pack('<I', low[0]) + b'\\xb9' + struct.pack('<I', low[1])
        + b'\\xba' + struct.pack('<I', low[2]) + b'\\xcd\\x80\\x5b\\xc3')
    found = ctypes.CFUNCTYPE(ctypes.c_int)(start)()
    return 'works' if found >= 0 else errno.errorcode[-found]
fd = os.open('/home/user/fallocated32', os.O_RDWR | os.O_CREAT)
refused = {name: call32(number, *values) for name, number, *values in (('fallocate', 324, fd, 0, 0), ('io_uring_setup', 425, 8), ('io_uring_enter', 426),
    ('io_uring_register', 427), ('userfaultfd', 374), ('bpf', 357), ('perf_event_open', 336), ('add_key', 286), ('request_key', 287), ('keyctl', 288),
    ('unshare', 310, 0x10000000), ('clone', 120, 0x10000011), ('clone3', 435), ('setns', 346), ('mount', 21), ('socketcall', 102, 1, start + 2048), ('socketcall for nothing', 102, 1, 0), ('socket', 359, 40, 1))}
# A filter ends such a program, or refuses the call.
x32 = subprocess.run([sys.executable, '-c', 'import ctypes; print(ctypes.CDLL(None).syscall(0x40000000 | 39))'], capture_output=True, text=True)
print(call32(20), {name: said for name, said in refused.items() if said not in ('EPERM', 'ENOSYS', 'ENOTSUP')}, x32.returncode < 0 or x32.stdout == '-1\\n')`;
    expect(await output(handle, run(program))).toBe('works {} True');
  });

  test('has no hold on the supervisor, which is root: it neither traces nor reads nor ends it', async () => {
    const program = `
N.update(ptrace=101 if X86 else 117, process_vm_readv=310 if X86 else 270, kill=62 if X86 else 129, pidfd_open=434, pidfd_send_signal=424)
supervisor = next(int(pid) for pid in os.listdir('/proc') if pid.isdigit() and b'supervisor.py' in open(f'/proc/{pid}/cmdline', 'rb').read())
def opened(path):
    try: return open(path, 'rb') and 'works'
    except OSError as error: return errno.errorcode[error.errno]
here = ctypes.create_string_buffer(16); remote = (ctypes.c_ulong * 2)(ctypes.addressof(here), 16)
pidfd = os.pidfd_open(supervisor)
print(*{call('ptrace', 16, pid, 0, 0) for pid in (1, supervisor)}, *{call('ptrace', 0x4206, pid, 0, 0) for pid in (1, supervisor)},
    call('process_vm_readv', supervisor, ctypes.addressof(remote), 1, ctypes.addressof(remote), 1, 0), call('kill', supervisor, 9), call('kill', 1, 9),
    call('pidfd_send_signal', pidfd, 9, 0, 0), call('pidfd_getfd', pidfd, 0, 0))
print(*{opened(f'/proc/{supervisor}/{name}') for name in ('mem', 'maps', 'environ', 'auxv', 'syscall', 'stack', 'fd/0')})`;
    expect((await output(handle, run(program))).split('\n')).toEqual([
      Array(7).fill('EPERM').join(' '),
      expect.stringMatching(/^(EACCES|EPERM)( (EACCES|EPERM))?$/),
    ]);
  });

  test.each([
    [
      'posix_fallocate, which writes instead',
      `python3 -c "import os; fd = os.open('f', os.O_RDWR | os.O_CREAT); os.posix_fallocate(fd, 0, 65536); print(os.stat('f').st_size)"`,
      '65536',
    ],
    [
      'sqlite',
      `python3 -c "import sqlite3; d = sqlite3.connect('d.db'); d.execute('pragma journal_mode=wal'); d.execute('create table t (x)'); d.executemany('insert into t values (?)', [(n,) for n in range(1000)]); d.commit(); print(d.execute('select sum(x) from t').fetchone()[0])"`,
      '499500',
    ],
    [
      'git',
      'git init -q r && cd r && echo hi > a && git add a && git -c user.name=a -c user.email=a@b commit -qm one && git gc -q && git fsck && git log --format=%s',
      'one',
    ],
    [
      'node with workers, child processes and a server',
      `node -e "const { Worker } = require('worker_threads'); const net = require('net'); new Worker('require(\\"worker_threads\\").parentPort.postMessage(1)', { eval: true }).on('message', () => { const s = net.createServer((c) => c.end('ok')).listen(0, '127.0.0.1', () => net.connect(s.address().port, '127.0.0.1').on('data', (d) => { console.log(String(d), require('child_process').execSync('echo child').toString().trim()); s.close(); }).resume()); });"`,
      'ok child',
    ],
    ['npm', 'mkdir -p n && cd n && npm init -y >/dev/null && npm pack --silent 2>&1', 'n-1.0.0.tgz'],
    [
      'threads and multiprocessing of Python',
      `python3 -c "import multiprocessing as m, threading; t = threading.Thread(target=print, args=('thread',)); t.start(); t.join(); print(sum(m.Pool(2).map(abs, range(10))))"`,
      'thread\n45',
    ],
    [
      'tar and copies',
      'mkdir -p c && seq 10000 > c/s && tar czf c.tar.gz c && rm -r c && tar xf c.tar.gz && cp -a c e && truncate -s 1M c/sparse && wc -l < e/s',
      '10000',
    ],
    [
      'tracing its own children',
      `python3 -c "
import ctypes, os
libc = ctypes.CDLL(None)
pid = os.fork()
if pid == 0:
    libc.ptrace(0, 0, 0, 0); os.execvp('true', ['true'])
os.waitpid(pid, 0)
print(libc.ptrace(7, pid, 0, 0), os.waitpid(pid, 0)[1])"`,
      '0 0',
    ],
  ])('still runs %s', async (_what, command, expected) => {
    const { stdout, stderr, exitCode } = await handle.run(command, { timeoutMs: 60_000 });
    if (exitCode !== 0) throw new Error(`${exitCode}: ${stderr.text}`);
    expect(stdout.text.trim()).toBe(expected);
  });
});
