import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { connectSupervisor } from '../../../src/sandbox/protocol/connect-supervisor.ts';
import { encodeFrame, FRAMES, LIMITS, PROTOCOL_VERSION } from '../../../src/sandbox/protocol/frames.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { LocalSupervisor, silentLog, until } from './local-supervisor.ts';

const preview = { previewBytes: 100 };

describe('a stream that breaks', () => {
  let supervisor: LocalSupervisor;
  beforeEach(async () => {
    supervisor = await LocalSupervisor.start({ silenceMs: 300 });
  });
  afterEach(() => supervisor[Symbol.asyncDispose]());

  test('loses and repeats not one byte of the output', async () => {
    const hash = createHash('sha256');
    let received = 0;
    let cuts = 0;
    const result = await supervisor.handle.run('head -c 20000000 /dev/urandom', {
      execId: 'cut',
      onStdout: (chunk) => {
        hash.update(chunk);
        received += chunk.length;
        if (cuts < 15 && received > cuts * 1_000_000) {
          cuts += 1;
          supervisor.sockets.at(-1)?.destroy();
        }
      },
    });
    expect(cuts).toBe(15);
    expect(result.stdout.totalBytes).toBe(20_000_000);
    expect(received).toBe(20_000_000);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(supervisor.journal('cut', 'stdout')).digest('hex'));
  });

  test('loses and repeats nothing of the input', async () => {
    const bytes = Buffer.alloc(8_000_000, 'all of this arrives once ');
    const ended = supervisor.handle.run('sha256sum', { execId: 'fed', stdin: bytes });
    for (let cut = 0; cut < 5; cut += 1) {
      const count = supervisor.sockets.length;
      await until(() => supervisor.sockets.length > 0);
      supervisor.sockets.at(-1)?.destroy();
      const result = await Promise.race([ended, until(() => supervisor.sockets.length > count)]);
      if (result !== undefined) break;
    }
    expect((await ended).stdout.text).toContain(createHash('sha256').update(bytes).digest('hex'));
  });

  test('does not run a command again', async () => {
    const ended = supervisor.handle.run('echo ran >> effects; sleep 0.5; echo done', { execId: 'once' });
    await until(() => existsSync(join(supervisor.home, 'effects')));
    supervisor.sockets.at(-1)?.destroy();
    expect((await ended).stdout.text).toBe('done\n');
    expect(readFileSync(join(supervisor.home, 'effects'), 'utf8')).toBe('ran\n');
  });

  test('does not run a command again under another supervisor, be its journal empty', async () => {
    const ended = supervisor.handle.run('echo ran >> effects; sleep 1000', { execId: 'once', timeoutMs: 0 });
    const refused = expect(ended).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    await until(() => existsSync(join(supervisor.home, 'effects')));
    await supervisor.die();
    rmSync(join(supervisor.directory, 'execs'), { recursive: true });
    await supervisor.boot();
    await refused;
    expect(await supervisor.handle.execs()).toEqual([]);
    expect(readFileSync(join(supervisor.home, 'effects'), 'utf8')).toBe('ran\n');
  });

  test('is replaced when it falls silent, and a frozen supervisor answers when it thaws', async () => {
    const ended = supervisor.handle.run('echo > ready; sleep 0.3; echo awake', { execId: 'silent' });
    await until(() => existsSync(join(supervisor.home, 'ready')));
    supervisor.signalAll('SIGSTOP');
    await until(() => supervisor.sockets.length > 1);
    supervisor.signalAll('SIGCONT');
    expect((await ended).stdout.text).toBe('awake\n');
  });

  test('is an error when no other can be opened', async () => {
    const ended = supervisor.handle.run('echo > ready; sleep 1000', { execId: 'dead' });
    await until(() => existsSync(join(supervisor.home, 'ready')));
    await supervisor.die();
    await expect(ended).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE' });
  });
});

describe('letting go', () => {
  test('an aborted follower rejects with DETACHED while the command runs on', async () => {
    await using supervisor = await LocalSupervisor.start();
    const abort = new AbortController();
    const ended = supervisor.handle.run('echo > ready; until [ -e go ]; do sleep 0.05; done; echo done', { execId: 'kept', signal: abort.signal });
    await until(() => existsSync(join(supervisor.home, 'ready')));
    abort.abort();
    await expect(ended).rejects.toMatchObject({ code: 'DETACHED' });
    await supervisor.handle.writeFile('go', '');
    expect((await supervisor.handle.attach('kept')).stdout.text).toBe('done\n');
  });

  test('a closed connection detaches its followers', async () => {
    await using supervisor = await LocalSupervisor.start();
    const ended = supervisor.handle.run('sleep 1000', { execId: 'left' });
    await until(async () => (await supervisor.connection.list()).length === 1);
    supervisor.connection.close();
    await expect(ended).rejects.toMatchObject({ code: 'DETACHED' });
    await expect(supervisor.handle.execs()).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE' });
  });

  test('a call that waits for a frozen sandbox can be given up, and the opening is told', async () => {
    let told = false;
    const openStream = (signal: AbortSignal): Promise<Duplex> =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          told = true;
          reject(new Error('given up'));
        }),
      );
    const connection = connectSupervisor({ openStream, sandboxId: 'sbx_frozen', log: silentLog });
    const abort = new AbortController();
    const ended = connection.attach('any', { ...preview, signal: abort.signal });
    abort.abort();
    await expect(ended).rejects.toMatchObject({ code: 'DETACHED' });
    await until(() => told);
    connection.close();
  });

  test('an error that openStream knows the reason of is passed on', async () => {
    const openStream = (): Promise<Duplex> => Promise.reject(failure('SANDBOX_LOST', { sandboxId: 'sbx_gone', problem: 'removed' }));
    const connection = connectSupervisor({ openStream, sandboxId: 'sbx_gone', log: silentLog });
    await expect(connection.ping()).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    connection.close();
  });
});

describe('a supervisor that cannot be trusted', () => {
  const hello = { version: PROTOCOL_VERSION, supervisorId: 'abc', bootedAt: '2026-01-01T00:00:00.000Z' };
  const json = (type: number, channel: number, value: unknown): Buffer => encodeFrame(type, channel, JSON.stringify(value));
  const exit = { status: 'exited', exitCode: 0, durationMs: 1, stdoutBytes: 0, stderrBytes: 0, stdoutKept: 0, stderrKept: 0 };
  const text = { head: '', tail: '', leftOut: 0, path: '/x' };

  /** Greets as told, then answers everything else with `answer`. */
  async function ask(answer: (channel: number) => Buffer[], greeting: unknown = hello): Promise<unknown> {
    const server = createServer((socket: Socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        const channel = chunk.readUInt32BE(5);
        const frames = chunk.includes('"hello"') ? [json(FRAMES.end, channel, greeting)] : answer(channel);
        for (const frame of frames) socket.write(frame);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const { connect } = await import('node:net');
    const connection = connectSupervisor({ openStream: () => Promise.resolve(connect(port, '127.0.0.1')), sandboxId: 'sbx_bad', log: silentLog });
    try {
      return await connection.attach('exec', preview);
    } catch (error) {
      await expect(connection.ping()).rejects.toMatchObject({ code: (error as { code: string }).code });
      throw error;
    } finally {
      connection.close();
      server.close();
    }
  }

  const giant = Buffer.alloc(9);
  giant.writeUInt32BE(LIMITS.frameBytes + 1);
  const breaches: [string, (channel: number) => Buffer[]][] = [
    ['a giant frame', () => [giant]],
    ['a frame shorter than its header', () => [Buffer.alloc(9)]],
    ['a message that is not JSON', (channel) => [encodeFrame(FRAMES.end, channel, '{"exit":')]],
    ['a message that is no object', (channel) => [json(FRAMES.end, channel, [1])]],
    ['an unknown field', (channel) => [json(FRAMES.end, channel, { exit, stdout: text, stderr: text, more: 1 })]],
    [
      'a field named __proto__',
      (channel) => [encodeFrame(FRAMES.end, channel, `{"__proto__":{},${JSON.stringify({ exit, stdout: text, stderr: text }).slice(1)}`)],
    ],
    ['a missing field', (channel) => [json(FRAMES.end, channel, { exit, stdout: text })]],
    ['a field of the wrong type', (channel) => [json(FRAMES.end, channel, { exit: { ...exit, exitCode: '0' }, stdout: text, stderr: text })]],
    ['an unknown type of frame', (channel) => [encodeFrame(99, channel, '')]],
    ['a channel that was never opened', () => [encodeFrame(FRAMES.data, 4000, 'x')]],
    ['data without a request, beyond the window', (channel) => Array.from({ length: 6 }, () => encodeFrame(FRAMES.data, channel, Buffer.alloc(60_000)))],
    ['an unknown failure', (channel) => [json(FRAMES.error, channel, { code: 'HACKED', problem: 'x' })]],
  ];
  test.each(breaches)('%s closes the connection for good', async (_what, answer) => {
    await expect(ask(answer)).rejects.toMatchObject({ code: 'SANDBOX_PROTOCOL' });
  });

  test('another version of the protocol is refused', async () => {
    await expect(ask(() => [], { ...hello, version: 99 })).rejects.toMatchObject({ code: 'SANDBOX_VERSION' });
  });

  test('a correct answer is taken', async () => {
    expect(await ask((channel) => [json(FRAMES.end, channel, { exit, stdout: text, stderr: text })])).toMatchObject({ exit: { exitCode: 0 } });
  });
});
