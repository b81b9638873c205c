import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

describe.each(BACKENDS)('checkpoints on %s', (_name, open) => {
  let backend: Backend;
  beforeEach(async () => {
    backend = await open();
  });
  afterEach(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  const shell = async (command: string) => (await backend.handle.run(command)).stdout.text;

  test('bring back what a command changed, and cost nothing while nothing changes', async () => {
    const { handle } = backend;
    await shell('mkdir -p src && echo one > src/a && echo two > b && chmod 700 b && ln -s b link');
    const first = await handle.createCheckpoint({ key: 'one', keep: 20 });
    expect(first).toMatchObject({ made: true, checkpoint: { number: 1, leftOut: 0 } });
    expect(await handle.createCheckpoint({ key: 'two', keep: 20 })).toEqual({ made: false, checkpoint: first.checkpoint, oldest: 1 });
    await shell('rm -rf src link && echo three > b && echo new > c');
    const second = await handle.createCheckpoint({ key: 'three', keep: 20 });
    expect(second).toMatchObject({ made: true, checkpoint: { number: 2 } });
    expect(await handle.restoreCheckpoint(first.checkpoint, { key: 'back', keep: 20 })).toMatchObject({ checkpoint: { number: 3 }, failed: 0, problems: [] });
    expect(await shell('cat src/a link; stat -c %a b; ls')).toBe('one\ntwo\n700\nb\nlink\nsrc\n');
    await handle.restoreCheckpoint(second.checkpoint, { key: 'forth', keep: 20 });
    expect(await shell('cat b c; ls')).toBe('three\nnew\nb\nc\n');
    expect((await handle.checkpoints()).map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    await expect(handle.restoreCheckpoint({ ...first.checkpoint, at: second.checkpoint.at }, { key: 'other', keep: 20 })).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    });
    await expect(handle.restoreCheckpoint({ ...first.checkpoint, number: 9 }, { key: 'none', keep: 20 })).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    });
  });

  test('are of one moment although a program writes two files at a time', async () => {
    const { handle } = backend;
    await handle.start('i=0; while :; do i=$((i+1)); echo $i > first; echo $i > second; done', { execId: 'writer', timeoutMs: 0 });
    await until(() => handle.fileExists('second'), 'it writes');
    for (let round = 0; round < 5; round += 1) {
      await handle.createCheckpoint({ key: `round-${round}`, keep: 20 });
    }
    await handle.kill('writer', 'SIGKILL');
    const made = await handle.checkpoints();
    expect(made.length).toBeGreaterThan(1);
    for (const checkpoint of made) {
      await handle.restoreCheckpoint(checkpoint, { key: `restore-${checkpoint.number}`, keep: 50 });
      const [first, second] = (await shell('cat first; echo; cat second')).split('\n\n').map((text) => (text.trim() === '' ? undefined : Number(text)));
      // Between the two, the second is one behind; while one is written anew, it is empty.
      if (first !== undefined && second !== undefined) expect([0, 1]).toContain(first - second);
    }
  });

  test('outlive a stop of the sandbox, and its commands go on after one was made', async () => {
    const { handle, sandboxes, sandboxId } = backend;
    await handle.writeFile('kept', 'before');
    await handle.start('while :; do echo tick; sleep 0.02; done', { execId: 'ticks', timeoutMs: 0 });
    const count = async () => (await handle.execs()).find(({ execId }) => execId === 'ticks')?.stdoutBytes ?? 0;
    const { checkpoint } = await handle.createCheckpoint({ key: 'one', keep: 20 });
    const ticked = await count();
    await until(async () => (await count()) > ticked, 'it ticks on');
    await handle.writeFile('kept', 'after');
    await sandboxes.stop(sandboxId);
    await handle.restoreCheckpoint(checkpoint, { key: 'back', keep: 20 });
    expect(await handle.readFile('kept', { encoding: 'utf-8' })).toBe('before');
  });
});
