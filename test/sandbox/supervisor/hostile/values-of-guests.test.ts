import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalSupervisor } from '../local-supervisor.ts';

/** What a guest can make that no message could hold as it is. */
let supervisor: LocalSupervisor;
beforeEach(async () => {
  supervisor = await LocalSupervisor.start();
});
afterEach(() => supervisor[Symbol.asyncDispose]());

const LARGEST = Number.MAX_SAFE_INTEGER;

test('a file of more bytes than a number holds is listed, and reading it breaks no connection', async () => {
  // A file system in memory takes any size.
  const huge = `/dev/shm/longshore-${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(huge, 'beginning');
    chmodSync(huge, 0o644);
    execFileSync('bash', ['-c', 'truncate -s 4E "$0"', huge]);
    symlinkSync(huge, join(supervisor.home, 'huge'));
    expect(await supervisor.connection.fileInfo(huge)).toMatchObject({ type: 'file', size: LARGEST });
    expect((await supervisor.handle.readFile('huge', { maxBytes: 9 })).toString()).toBe('beginning');
    await expect(supervisor.handle.readFile('huge')).rejects.toMatchObject({ code: 'FILE_FAILED' });
    expect((await supervisor.handle.run('echo alive')).stdout.text).toBe('alive\n');
  } finally {
    rmSync(huge, { force: true });
  }
});

test('a path that is longer than any program can name is left out of a comparison, and the rest is told', async () => {
  const { checkpoint } = await supervisor.connection.createCheckpoint({ key: 'one', keep: 10 });
  await supervisor.handle.run(`echo > plain; for i in $(seq 60); do mkdir ${'d'.repeat(200)} && cd ${'d'.repeat(200)} || exit 1; done; echo > inner`);
  const paths: string[] = [];
  const end = await supervisor.connection.compareCheckpoint({ from: checkpoint, mostBytes: 1000 }, async ({ path }) => void paths.push(path));
  expect(paths).toContain('plain');
  expect(Math.max(...paths.map((path) => path.length))).toBeLessThanOrEqual(8192);
  expect(end.closed).toBeGreaterThan(0);
  expect(paths.length + end.closed).toBe(62);
  // Not by its whole path, which the clean-up of the test cannot use either.
  await supervisor.handle.run('rm -rf dd*');
});
