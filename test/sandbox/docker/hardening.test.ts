import type { SandboxHandle } from '../../../src/sandbox/sandbox.ts';
import { createTestSandboxes, output, type TestSandboxes } from './support.ts';

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
      SecurityOpt: ['no-new-privileges:true'],
      Privileged: false,
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      Memory: 256 * 2 ** 20,
      MemorySwap: 256 * 2 ** 20,
      PidsLimit: 64,
      Init: true,
      RestartPolicy: { Name: 'no' },
    });
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

  test('there is no network but loopback', async () => {
    expect(await output(handle, 'ls /sys/class/net')).toBe('lo');
    const { exitCode } = await handle.run(`python3 -c "import socket; socket.create_connection(('1.1.1.1', 53), 2)"`);
    expect(exitCode).toBe(1);
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
