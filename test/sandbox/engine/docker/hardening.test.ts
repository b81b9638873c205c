import { hostname } from 'node:os';
import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, output, type TestSandboxes } from '../../lifecycle/support.ts';

describe('a sandbox, probed from inside', () => {
  let parts: TestSandboxes;
  let handle: SandboxHandle;
  const sandboxId = 'sbx_probe';
  beforeAll(async () => {
    parts = await createTestSandboxes();
    ({ handle } = await parts.sandboxes.open({ sandboxId, conversationId: 'conv_probe', tenantId: 't' }, { memoryMb: 256, pids: 64 }));
  });
  afterAll(async () => parts[Symbol.asyncDispose]());

  test('the container is what the builder says', async () => {
    const { Config, HostConfig, Mounts } = await parts.docker.getContainer(parts.containerName(sandboxId)).inspect();
    expect(HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: ['SETUID', 'SETGID', 'KILL', 'CHOWN'],
      IpcMode: 'private',
      PidMode: '',
      UTSMode: '',
      UsernsMode: '',
      OomScoreAdj: 500,
      OomKillDisable: false,
      PublishAllPorts: false,
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,size=64m,mode=1777', '/run': 'rw,noexec,nosuid,nodev,size=16m,mode=755' },
      SecurityOpt: ['no-new-privileges:true', expect.stringMatching(/^seccomp=\{/)],
      Privileged: false,
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      Memory: 256 * 2 ** 20,
      MemorySwap: 256 * 2 ** 20,
      PidsLimit: 64,
      Init: true,
      RestartPolicy: { Name: 'no' },
    });
    for (const name of ['Binds', 'Devices', 'DeviceRequests', 'ExtraHosts', 'Links', 'VolumesFrom', 'GroupAdd', 'Dns'] as const)
      expect(HostConfig[name] ?? []).toEqual([]);
    expect(Config).toMatchObject({ Hostname: 'sandbox', User: '0:0', OpenStdin: true, StdinOnce: true, Tty: false });
    expect(Mounts.map(({ Type, Destination }) => ({ Type, Destination }))).toEqual([{ Type: 'volume', Destination: '/home' }]);
    expect(Config.Labels).toMatchObject({
      'longshore.installation': parts.installation,
      'longshore.sandbox': sandboxId,
      'longshore.conversation': 'conv_probe',
    });
  });

  test('commands run as an ordinary user without any capability and without a way to get one', async () => {
    expect(await output(handle, 'id -u; id -g; id -G')).toBe('1000\n1000\n1000');
    const status = await output(handle, 'cat /proc/self/status');
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) expect(status).toMatch(new RegExp(`${set}:\\s+0000000000000000`));
    expect(status).toMatch(/NoNewPrivs:\s+1/);
    expect(status).toMatch(/Seccomp:\s+2/);
  });

  test('there is no network but loopback: no route, no name server, no metadata, nothing of the host', async () => {
    expect(await output(handle, 'ls /sys/class/net; tail -n +2 /proc/net/route; tail -n +2 /proc/net/tcp; env | grep -i proxy')).toBe('lo');
    const probe = `python3 -c "
import errno, socket
def attempt(family, address):
    try: socket.socket(family).connect(address)
    except OSError as error: return errno.errorcode[error.errno]
print(*[attempt(socket.AF_INET, (address, 80)) for address in ('1.1.1.1', '169.254.169.254', '172.17.0.1', '10.0.0.1', '100.100.100.200')])
print(attempt(socket.AF_INET6, ('fd00:ec2::254', 80)), attempt(socket.AF_VSOCK, (2, 22)) is not None)
try: socket.getaddrinfo('example.com', 80)
except OSError: print('no names')"`;
    const [v4 = '', v6 = '', names = ''] = (await output(handle, probe)).split('\n');
    expect(new Set(v4.split(' '))).toEqual(new Set(['ENETUNREACH']));
    expect(v6).toMatch(/^(ENETUNREACH|EADDRNOTAVAIL) True$/);
    expect(names).toBe('no names');
    expect(await output(handle, 'hostname; cat /etc/hostname; cut -f1 /proc/net/dev_mcast')).not.toContain(hostname());
    expect(await output(handle, 'hostname')).toBe('sandbox');
  });

  test('raw and packet sockets, kernel interfaces and debugging are refused', async () => {
    const probe = `python3 -c "
import ctypes, errno, socket
def attempt(make):
    try: make()
    except OSError as error: return errno.errorcode[error.errno]
    return 'works'
print(attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)), attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *values):
    return errno.errorcode[ctypes.get_errno()] if libc.syscall(number, *values) < 0 else 'works'
# mount, init_module, bpf, keyctl, perf_event_open, ptrace of the supervisor, setns, reboot
print(*[call(number, *values) for number, values in ((165, (0, 0, 0, 0, 0)), (175, (0, 0, 0)), (321, (0, 0, 0)), (250, (0, 0)), (298, (0, 0, 0, 0, 0)), (101, (16, 1, 0, 0)), (308, (0, 0)), (169, (0, 0, 0, 0)))])"`;
    const answers = (await output(handle, probe)).split(/\s/);
    expect(answers).not.toContain('works');
    expect(answers).toHaveLength(10);
    expect(await output(handle, 'ls /dev | grep -E "^(sd|vd|nvme|kvm|mem|kmsg|fuse|loop)"')).toBe('');
    expect((await handle.run('cat /dev/kmsg /proc/kcore /proc/sched_debug /proc/timer_list /sys/firmware/* 2>/dev/null | grep -q .')).exitCode).toBe(1);
  });

  test('only /home/user and /tmp can be written by the guest', async () => {
    for (const directory of ['/', '/etc', '/usr/bin', '/opt/longshore', '/run', '/home', '/home/.longshore', '/proc/sys/kernel']) {
      const { exitCode } = await handle.run(`touch ${directory}/probe`);
      expect({ directory, exitCode }).toEqual({ directory, exitCode: 1 });
    }
    expect((await handle.run('touch /home/user/probe /tmp/probe')).exitCode).toBe(0);
  });

  test('mounts, devices, tracing the supervisor and signalling it are refused', async () => {
    expect((await handle.run('mount -t tmpfs none /tmp')).exitCode).not.toBe(0);
    expect((await handle.run('mknod /tmp/disk b 8 0')).exitCode).not.toBe(0);
    expect((await handle.run('unshare --user --map-root-user true')).exitCode).not.toBe(0);
    expect((await handle.run('kill -9 1; cat /proc/1/environ; ls /proc/1/fd')).exitCode).not.toBe(0);
    expect(await output(handle, 'for p in $(pgrep -u root); do kill -9 $p 2>/dev/null && echo killed $p; done')).toBe('');
    // Over the container's own stdin and stdout the worker speaks with the supervisor.
    expect(await output(handle, 'for p in $(pgrep -u root); do for n in 0 1 2; do echo x >/proc/$p/fd/$n; done; done 2>/dev/null; echo done')).toBe('done');
    expect(await output(handle, 'for p in $(pgrep -u root); do ls /proc/$p/fd 2>/dev/null; done')).toBe('');
  });

  test('a guest that kills what it can, floods the supervisor or speaks its language gets no answer that is wrong', async () => {
    const { stdout } = await handle.run('kill -9 -1', { timeoutMs: 10_000 });
    expect(stdout.totalBytes).toBe(0);
    expect(await output(handle, 'echo still here')).toBe('still here');
    // Frames of the protocol in the output are output.
    const frames = String.raw`printf '\000\000\000\007\006\000\000\000\001{}\177\377\377\377\001'`;
    expect((await handle.run(`${frames}; ${frames} >&2; exit 7`)).exitCode).toBe(7);
    // Neither can it leave a result in the journal that the next one would read.
    const planted = await handle.run(
      'for d in /home/.longshore /home/.longshore/execs /home/.longshore/execs/*; do echo "{}" > $d/exit.json; mkdir $d/planted; done; exit 3',
    );
    expect(planted.exitCode).toBe(3);
    expect((await handle.execs()).some(({ execId }) => execId === 'planted')).toBe(false);
    expect(await output(handle, 'for fd in $(ls /proc/self/fd); do readlink /proc/self/fd/$fd; done | grep -c -e socket -e longshore')).toBe('0');
  });

  test('neither the engine nor the supervisor can be reached, and the environment holds no secret', async () => {
    expect(await output(handle, 'ls /var/run/docker.sock /run/docker.sock 2>/dev/null')).toBe('');
    expect((await handle.run('ls /run/longshore')).exitCode).not.toBe(0);
    expect((await handle.run('socat -u OPEN:/dev/null UNIX-CONNECT:/run/longshore/supervisor.sock')).exitCode).not.toBe(0);
    expect(await output(handle, 'env')).not.toMatch(/TEMPORAL|DATABASE|DOCKER|KEY|TOKEN/);
  });

  test('too many processes are refused without ending the sandbox', async () => {
    await handle.run('for i in $(seq 200); do sleep 5 & done; wait', { timeoutMs: 2000 });
    expect(await output(handle, 'echo alive')).toBe('alive');
  });

  test('a writable root file system is an option', async () => {
    const { handle: writable } = await parts.sandboxes.open(parts.newOwner(), { readOnlyRoot: false });
    expect((await writable.run('touch /var/tmp/probe')).exitCode).toBe(0);
  });
});
