import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, withLock } from '../../src/platform/lock.ts';
import { runCommand } from '../../src/platform/run-command.ts';

describe('the lock of set-up work', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'longshore-lock-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  test('work under one lock never overlaps', async () => {
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    };
    await Promise.all([1, 2, 3].map(() => withLock(join(directory, 'one'), work)));
    expect(most).toBe(1);
    expect(await readdir(directory)).toEqual([]);
  });

  test('a lock whose holder died is taken over', async () => {
    const { stdout } = await runCommand('sh', ['-c', 'echo $$']);
    expect(isAlive(Number(stdout))).toBe(false);
    await writeFile(join(directory, 'two'), stdout.trim());
    await expect(withLock(join(directory, 'two'), async () => 'done')).resolves.toBe('done');
  });

  test('a lock is given back when the work fails', async () => {
    await expect(withLock(join(directory, 'three'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await readdir(directory)).toEqual([]);
  });
});
