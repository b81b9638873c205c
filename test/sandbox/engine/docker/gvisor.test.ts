import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { startOutside, type Outside } from '../../lifecycle/outside.ts';
import { createTestSandboxes, describeWithGvisor, output, until, type TestSandboxes } from '../../lifecycle/support.ts';

const FILL = 'head -c 400M /dev/zero > big; sleep 60';

describeWithGvisor('a sandbox in gVisor', () => {
  let home: string;
  let outside: Outside;
  let parts: TestSandboxes;
  let handle: SandboxHandle;
  const owner = { sandboxId: 'sbx_gvisor', tenantId: 't' };

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'longshore-gvisor-'));
    outside = await startOutside();
    const config = { LONGSHORE_HOME: home, LONGSHORE_EGRESS_ADDRESSES: '127.0.0.1' };
    parts = await createTestSandboxes({ config, terms: { resolve: outside.resolve, trust: { ca: outside.ca } } });
    const egress = [{ host: 'open.test', ports: [outside.ports.http] }];
    ({ handle } = await parts.sandboxes.open(owner, { runtime: 'runsc', egress, diskMb: 64, memoryMb: 256 }));
  });
  afterAll(async () => {
    await parts[Symbol.asyncDispose]();
    await outside[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });

  const rest = async () => {
    expect(await parts.sandboxes.hibernate(owner.sandboxId)).toBe('hibernated');
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('running');
  };

  test('gives its guest no capability, no network and no name of the host', async () => {
    expect(await output(handle, 'grep CapEff /proc/self/status')).toMatch(/\s0000000000000000$/);
    const interfaces = `python3 -c "import socket; print(*[name for _, name in socket.if_nameindex()])"`;
    expect(await output(handle, `id -u; hostname; ${interfaces}`)).toBe('1000\nsandbox\nlo');
    for (const denied of [
      'touch /etc/probe',
      'touch /home/.longshore/probe',
      'mount -t tmpfs none /tmp',
      'mknod /tmp/disk b 8 0',
      'kill -9 1',
      'ls /run/longshore',
    ])
      expect({ denied, exitCode: (await handle.run(denied)).exitCode }).not.toEqual({ denied, exitCode: 0 });
  });

  test('breaks off connections of its guest when it rests, and lets new ones out when it has woken', async () => {
    const url = `http://open.test:${outside.ports.http}`;
    const code = await handle.start(`curl --silent --output /dev/null ${url}/stall; echo $?`);
    await until(async () => outside.requests.at(-1)?.path === '/stall', 'the download has begun');
    await rest();
    const { stdout } = await handle.attach(code.execId);
    expect(Number(stdout.text)).toBeGreaterThan(0);
    expect(await output(handle, `curl --silent ${url}/`)).toBe('hello from open.test');
  });

  test('has no fallocate, and no file larger than its disk', async () => {
    const { stdout } = await handle.run(
      'fallocate -l 6G big; echo $?; ulimit -Hf; python3 -c "import os; os.posix_fallocate(os.open(\'f\', 66), 0, 4096)" && stat -c %s f',
    );
    expect(stdout.text).toBe('1\n65536\n4096\n');
    expect(await handle.run('truncate -s 65M f')).toMatchObject({ limit: 'disk' });
    await handle.run('rm f big');
  });

  test('still has its limit of disk when it has woken', async () => {
    const running = handle.run(`until [ -e go ]; do sleep 0.05; done; ${FILL}`, { timeoutMs: 60_000 });
    await rest();
    await handle.writeFile('/home/user/go', '');
    expect(await running).toMatchObject({ status: 'exited', signal: 'SIGKILL', limit: 'disk' });
    expect(await output(handle, 'rm big; sleep 1.2; echo fine')).toBe('fine');
  });

  test('keeps terminals and watches over its rest', async () => {
    let shown = '';
    const pty = await handle.openPty({ command: 'read line; echo "got $line"', onData: (chunk) => void (shown += chunk.toString()) });
    await using watch = await handle.watch('/home/user');
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, path } of watch) seen.push(`${type} ${path}`);
    })();
    await rest();
    await pty.write('hello\n');
    expect(await pty.ended).toMatchObject({ status: 'exited', exitCode: 0 });
    expect(shown).toContain('got hello');
    await handle.writeFile('/home/user/after', '');
    await until(async () => seen.some((line) => line.endsWith('after') || line.startsWith('overflow')), 'the watch reports something');
    watch.close();
    await watching;
  });

  test('that is used up in memory tells so, and its neighbour works', async () => {
    const hungry = { sandboxId: 'sbx_hungry', tenantId: 't' };
    const { handle: full } = await parts.sandboxes.open(hungry, { runtime: 'runsc', memoryMb: 128 });
    const outcome = await full.run(`python3 -c 'x = bytearray(1 << 30)'`).then(
      ({ limit }) => limit,
      ({ code }: { code: string }) => code,
    );
    expect(outcome).toBe('SANDBOX_LOST');
    const { handle: again, lost } = await parts.sandboxes.open(hungry, {});
    expect(lost).toContain('ran out of memory');
    expect(await output(again, 'echo works')).toBe('works');
    expect(await output(handle, 'echo works')).toBe('works');
  });

  test('comes from a warm pool, shares its holder with the others, and can rest', async () => {
    const options = { runtime: 'runsc', memoryMb: 200 } as const;
    await using _kept = parts.sandboxes.keepWarm!([{ name: 'guarded', options, size: 1 }]);
    const warm = () => parts.store.sandboxes.list({ states: ['warm'] });
    await until(async () => (await warm()).length === 1, 'one is warm');
    const [row] = await warm();
    const conversation = { sandboxId: 'sbx_unused', conversationId: 'conv_warm', tenantId: 't' };
    const { handle: claimed } = await parts.sandboxes.open(conversation, options);
    expect(claimed.sandboxId).toBe(row?.sandboxId);
    const networkOf = async (name: string) => (await parts.docker.getContainer(name).inspect()).HostConfig.NetworkMode;
    expect(await networkOf(row!.containerName)).toBe(await networkOf(parts.containerName(owner.sandboxId)));
    await claimed.runCode('held = 42', { language: 'python', contextId: 'kept' });
    expect(await parts.sandboxes.hibernate(claimed.sandboxId)).toBe('hibernated');
    expect((await claimed.runCode('print(held)', { language: 'python', contextId: 'kept' })).stdout).toBe('42\n');
    await parts.sandboxes.destroy(claimed.sandboxId);
  });
});
