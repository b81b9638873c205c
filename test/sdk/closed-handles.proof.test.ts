import { until } from '../sandbox/lifecycle/support.ts';
import { open, useSandboxes } from './sandboxes.ts';

useSandboxes();

describe('a handle that was closed', () => {
  const closed = { code: 'SANDBOX_CLOSED' };

  test('says so and what to do, however often it is disposed of', async () => {
    const sandbox = await open();
    await sandbox.destroy();
    await sandbox.destroy();
    await sandbox[Symbol.asyncDispose]();
    const message = `cannot be used: this handle on sandbox "${sandbox.sandboxId}" was destroyed. Open a new one: openSandbox()`;
    await expect(sandbox.run('true')).rejects.toThrow(`run ${message}`);
    await expect(sandbox.tier()).rejects.toThrow(`tier ${message}`);
    await expect(sandbox.release()).rejects.toMatchObject(closed);
    expect(() => sandbox.readFileStream('x')).toThrow(`readFileStream ${message}`);
  });

  test('was released: the sandbox is kept, also by disposing of the handle', async () => {
    const sandbox = await open();
    const { sandboxId } = sandbox;
    const running = sandbox.run('echo begun > begun; sleep 987');
    const watch = await sandbox.watch('.');
    const changes = watch[Symbol.asyncIterator]();
    await until(async () => sandbox.fileExists('begun'), 'the command runs');
    await sandbox.release();
    await sandbox.release();
    await sandbox[Symbol.asyncDispose]();
    await expect(running).rejects.toMatchObject({ code: 'DETACHED' });
    await expect(ended(changes)).resolves.toBe('over');
    await expect(sandbox.execs()).rejects.toThrow(`The sandbox itself still exists: openSandbox({ sandboxId: "${sandboxId}" })`);
    await expect(sandbox.destroy()).rejects.toMatchObject(closed);
    await using again = await open({ sandboxId });
    expect((await again.execs()).filter(({ state }) => state === 'running')).toHaveLength(1);
  });

  test('was destroyed under what it did: all of that ends and says so', async () => {
    const sandbox = await open();
    const destroyed = { code: 'SANDBOX_DESTROYED' };
    const running = sandbox.run('echo begun > begun; sleep 987');
    const pty = await sandbox.openPty({ onData: () => undefined });
    const changes = (await sandbox.watch('.'))[Symbol.asyncIterator]();
    const outcomes = Promise.all([
      expect(running).rejects.toMatchObject(destroyed),
      expect(pty.ended).rejects.toMatchObject(destroyed),
      expect(ended(changes)).resolves.toBe('over'),
    ]);
    await until(async () => sandbox.fileExists('begun'), 'the command runs');
    await sandbox.destroy();
    await outcomes;
    await expect(pty.write('x')).rejects.toMatchObject(closed);
  });

  test('stop ends what runs, and says that it does not run on', async () => {
    await using sandbox = await open();
    const running = sandbox.run('echo begun > begun; sleep 987');
    const stopped = expect(running).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    await until(async () => sandbox.fileExists('begun'), 'the command runs');
    expect(await sandbox.stop()).toBe('stopped');
    await stopped;
    expect(await sandbox.execs()).toMatchObject([{ state: 'lost' }]);
  });
});

/** Whether an iterator comes to an end, by an error or not. */
async function ended(iterator: AsyncIterator<unknown>): Promise<'over'> {
  try {
    while ((await iterator.next()).done !== true);
  } catch {
    return 'over';
  }
  return 'over';
}
