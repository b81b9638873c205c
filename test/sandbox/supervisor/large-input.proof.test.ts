import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LocalSupervisor, until } from './local-supervisor.ts';

const MEBIBYTE = 1024 * 1024;
/** What the connection, the supervisor and the pipe hold, and what V8 has not looked for yet. */
const ALLOWED_GROWTH = 64 * MEBIBYTE;

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(() => supervisor[Symbol.asyncDispose]());

const heldBytes = () => process.memoryUsage().arrayBuffers;
const supervisorBytes = () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${supervisor.process.pid}/status`, 'utf8'))?.[1]) * 1024;

test('writeStdin of 500 MB goes piece by piece: neither side holds much of it', async () => {
  const bytes = Buffer.alloc(500 * MEBIBYTE, 'ab');
  const { execId } = await supervisor.handle.start('sha256sum', { stdin: 'open', timeoutMs: 0 });
  const [ours, theirs] = [heldBytes(), supervisorBytes()];
  const highest = { ours: 0, theirs: 0 };
  const timer = setInterval(() => {
    highest.ours = Math.max(highest.ours, heldBytes() - ours);
    highest.theirs = Math.max(highest.theirs, supervisorBytes() - theirs);
  }, 10);
  await supervisor.handle.writeStdin(execId, bytes, { end: true });
  clearInterval(timer);
  expect(highest.ours).toBeLessThan(ALLOWED_GROWTH);
  expect(highest.theirs).toBeLessThan(ALLOWED_GROWTH);
  const { stdout } = await supervisor.handle.attach(execId);
  expect(stdout.text).toBe(`${createHash('sha256').update(bytes).digest('hex')}  -\n`);
}, 180_000);

test('a command that does not read holds off its source, and its end answers who waits', async () => {
  let produced = 0;
  async function* endless() {
    for (;;) {
      produced += MEBIBYTE;
      yield Buffer.alloc(MEBIBYTE);
    }
  }
  const before = supervisorBytes();
  const running = supervisor.handle.run('sleep 1000', { execId: 'deaf', stdin: endless(), timeoutMs: 0 });
  const other = supervisor.handle.start('exec sleep 1000', { execId: 'deaf-too', stdin: 'open', timeoutMs: 0 });
  await other;
  const written = supervisor.handle.writeStdin('deaf-too', Buffer.alloc(100 * MEBIBYTE));
  // Looked at when all has ended.
  for (const waiting of [running, written]) waiting.catch(() => undefined);
  await until(() => produced > 0);
  // As much as would be done by then, were nothing held off.
  for (let count = 0; count < 20; count += 1) await supervisor.handle.run('true');
  expect(produced).toBeLessThanOrEqual(2 * MEBIBYTE);
  expect(supervisorBytes() - before).toBeLessThan(ALLOWED_GROWTH);
  await Promise.all([supervisor.handle.kill('deaf', 'SIGKILL'), supervisor.handle.kill('deaf-too', 'SIGKILL')]);
  await expect(running).resolves.toMatchObject({ status: 'killed' });
  await expect(written).rejects.toMatchObject({ code: 'STDIN_CLOSED' });
}, 180_000);

describe('a terminal', () => {
  const open = async (command: string, options: object = {}) => {
    const seen = { text: '' };
    const pty = await supervisor.handle.openPty({ command, ...options, onData: (chunk) => void (seen.text += chunk.toString()) });
    return { pty, seen };
  };

  test('takes 10,000 writes at once in their order', async () => {
    const { pty, seen } = await open('stty raw -echo; echo ready; head -c 60000 | sha256sum; head -c 1 > /dev/null');
    await until(() => seen.text.includes('ready'));
    const pieces = Array.from({ length: 10_000 }, (_, index) => `${String(index).padStart(5, '0')}\n`);
    await Promise.all(pieces.map((piece) => pty.write(piece)));
    const digest = createHash('sha256').update(pieces.join('')).digest('hex');
    await until(() => seen.text.includes(digest));
    await pty.write('x');
    await expect(pty.ended).resolves.toMatchObject({ status: 'exited', exitCode: 0 });
  });

  test('is resized while it is opened, refuses sizes that are none, and may be let go, killed and written to after its end', async () => {
    const { pty, seen } = await open('read line; stty size', { columns: 80, rows: 24 });
    await Promise.all([pty.resize({ columns: 100, rows: 40 }), pty.resize({ columns: 123, rows: 45 })]);
    for (const size of [{ columns: 0, rows: 1 }, { columns: Number.NaN, rows: 1 }, { columns: 1, rows: 100_000 }, {}])
      await expect(pty.resize(size as { columns: number; rows: number })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await pty.write('\n');
    await expect(pty.ended).resolves.toMatchObject({ exitCode: 0 });
    expect(seen.text).toContain('45 123');
    for (const late of [() => pty.kill(), () => pty.kill(), () => pty.write('x'), () => pty.resize({ columns: 5, rows: 5 })]) await late();
    pty.detach();
    pty.detach();
    await expect(supervisor.handle.attachPty('unheard-of', { onData: () => undefined })).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND' });
  });

  test('whose onData throws says so, and is not ended', async () => {
    const problem = new Error('of the reader');
    const pty = await supervisor.handle.openPty({
      ptyId: 'thrower',
      command: 'echo once; read line',
      onData: () => {
        throw problem;
      },
    });
    await expect(pty.ended).rejects.toBe(problem);
    const again = await supervisor.handle.attachPty('thrower', { onData: () => undefined });
    await again.write('\n');
    await expect(again.ended).resolves.toMatchObject({ exitCode: 0 });
  });
});
