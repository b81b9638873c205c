import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyJobCommand, type MountedPlace, type MountedTarget } from '../../../../src/sandbox/engine/docker/copy-command.ts';

/** Where the engine has the pages of the copy; in a job nothing is there. */
const ENGINE_PAGES = '/var/lib/engine/containers/c0ffee/checkpoints/rest-0.pages/pages.img';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore copies-'));
});
// Node.js removes no paths that are too long.
afterEach(() => promisify(execFile)('rm', ['-r', directory]));

type Kind = MountedPlace['kind'];
type TargetKind = MountedTarget['kind'];

/** As a copy job does. Places are directories here. */
async function copy(kind: Kind, from: string, targetKind: TargetKind, to: string): Promise<void> {
  await run(copyJobCommand({ kind, path: from }, { kind: targetKind, path: to, pages: ENGINE_PAGES }));
}

/** The same with two jobs: what the first packs, the second unpacks. */
async function carry(kind: Kind, from: string, targetKind: TargetKind, to: string): Promise<void> {
  const archive = await run(copyJobCommand({ kind, path: from }, undefined));
  await run(copyJobCommand(undefined, { kind: targetKind, path: to, pages: ENGINE_PAGES }), archive);
}

async function run([program = '', ...words]: string[], input?: Buffer): Promise<Buffer> {
  const running = promisify(execFile)(program, words, { cwd: directory, encoding: 'buffer' });
  running.child.stdin?.end(input);
  return (await running).stdout;
}
const read = (...path: string[]) => readFile(join(...path), 'utf8');

async function checkpointAt(name: string, pages: 'apart' | 'inside'): Promise<string> {
  const place = join(directory, name);
  await mkdir(place);
  await writeFile(join(place, 'checkpoint.img'), 'state');
  if (pages === 'inside') await writeFile(join(place, 'pages.img'), 'memory');
  else {
    await mkdir(`${place}.pages`);
    await writeFile(`${place}.pages/pages.img`, 'memory');
    await symlink('/where/the/engine/has/them', join(place, 'pages.img'));
  }
  return place;
}

describe.each(['apart', 'inside'] as const)('a checkpoint that has its pages %s', (pages) => {
  test('has them apart in the container that it is copied or unpacked to, with a link for the engine', async () => {
    const from = await checkpointAt('rest-7', pages);
    for (const [name, move] of Object.entries({ copied: copy, carried: carry })) {
      const to = join(directory, name);
      await move('checkpoint', from, 'checkpoint', to);
      expect((await readdir(to)).toSorted()).toEqual(['checkpoint.img', 'pages.img']);
      expect(await readlink(join(to, 'pages.img'))).toBe(ENGINE_PAGES);
      expect(await read(`${to}.pages`, 'pages.img')).toBe('memory');
    }
  });

  test('is whole in the volume of a snapshot and in an archive, and comes back from there', async () => {
    const from = await checkpointAt('rest-7', pages);
    const [volume, files, back] = [join(directory, 'volume'), join(directory, 'files'), join(directory, 'rest-0')] as const;
    await copy('checkpoint', from, 'volume', volume);
    await carry('checkpoint', from, 'volume', files);
    for (const place of [volume, files]) {
      expect((await readdir(place)).toSorted()).toEqual(['checkpoint.img', 'pages.img']);
      expect(await read(place, 'pages.img')).toBe('memory');
    }
    await copy('volume', volume, 'checkpoint', back);
    expect(await read(`${back}.pages`, 'pages.img')).toBe('memory');
    expect(await read(from, 'checkpoint.img')).toBe('state');
  });
});

test('the files of a sandbox are copied as they are, whatever their names', async () => {
  const from = join(directory, 'volume');
  await mkdir(from);
  await writeFile(join(from, 'kept'), 'yes');
  await symlink('/etc/hostname', join(from, 'pages.img'));
  for (const move of [copy, carry]) {
    const to = await mkdtemp(join(directory, 'to-'));
    await move('volume', from, 'volume', to);
    expect(await readlink(join(to, 'pages.img'))).toBe('/etc/hostname');
    expect(await read(to, 'kept')).toBe('yes');
  }
});

describe('what is nested more deeply than a path can be long', () => {
  const inside = async (place: string, script: string) => (await promisify(execFile)('python3', ['-c', `import os\n${script}`], { cwd: place })).stdout;
  /** Has the files `first` and `last`, and far below them a second name of `first`. */
  async function deepVolume(levels: number, name: string): Promise<string> {
    const from = join(directory, 'volume');
    await mkdir(from);
    for (const file of ['first', 'last']) await writeFile(join(from, file), file);
    await inside(from, `top = os.open('.', 0)\nfor _ in range(${levels}): os.mkdir('${name}'); os.chdir('${name}')\nos.link('first', 'first', src_dir_fd=top)`);
    return from;
  }
  const levelsIn = (place: string, name: string) => inside(place, `n = 0\nwhile os.path.isdir('${name}'): os.chdir('${name}'); n += 1\nprint(n)`);

  test.each([
    [30, 'd'.repeat(200), 20],
    [12_000, 'd', 2040],
  ])('stays behind, and all else is copied and comes back from an archive (%d levels)', async (levels, name, kept) => {
    const from = await deepVolume(levels, name);
    for (const move of [copy, carry]) {
      const to = await mkdtemp(join(directory, 'to-'));
      await move('volume', from, 'volume', to);
      expect([await read(to, 'first'), await read(to, 'last')]).toEqual(['first', 'last']);
      const found = Number(await levelsIn(to, name));
      expect(found).toBeGreaterThan(kept * 0.9);
      expect(found).toBeLessThan(kept * 1.1);
    }
  });

  test('is left out of an archive that an earlier version has packed with it, and hides no other problem', async () => {
    const from = await deepVolume(30, 'd'.repeat(200));
    const archive = await run(['tar', '-C', from, '-czf', '-', '.']);
    const to = join(directory, 'to');
    const unpack = copyJobCommand(undefined, { kind: 'volume', path: to, pages: ENGINE_PAGES });
    await run(unpack, archive);
    expect(await read(to, 'last')).toBe('last');
    const failed = (await run(unpack, archive.subarray(0, -20)).catch((error: unknown) => error)) as { code: number; stderr: Buffer };
    expect(failed.code).toBe(1);
    expect(failed.stderr.toString()).toContain('unexpected end of file');
    await expect(copy('volume', join(directory, 'missing'), 'volume', join(directory, 'copied'))).rejects.toMatchObject({ code: 1 });
  });
});

test('a volume for another sandbox is marked, so that what ran in the source does not count as ended in it', async () => {
  const [used, unused] = [join(directory, 'used'), join(directory, 'unused')];
  await mkdir(join(used, '.longshore', 'execs'), { recursive: true });
  await mkdir(unused);
  for (const move of [copy, carry]) {
    const to = await mkdtemp(join(directory, 'to-'));
    await move('volume', used, 'copy', to);
    expect((await readdir(join(to, '.longshore'))).toSorted()).toEqual(['execs', 'execs.copied']);
    const bare = await mkdtemp(join(directory, 'bare-'));
    await move('volume', unused, 'copy', bare);
    expect(await readdir(bare)).toEqual([]);
  }
  expect(await readdir(join(used, '.longshore'))).toEqual(['execs']);
});

test('a checkpoint is refused whose pages are a link of unknown origin, or are missing', async () => {
  const archived = join(directory, 'archived');
  await mkdir(archived);
  await symlink('/etc/shadow', join(archived, 'pages.img'));
  await expect(copy('volume', archived, 'checkpoint', join(directory, 'rest-0'))).rejects.toMatchObject({ code: 1 });
  await expect(carry('volume', archived, 'checkpoint', join(directory, 'rest-1'))).rejects.toMatchObject({ code: 1 });
  await expect(copy('checkpoint', archived, 'volume', join(directory, 'volume'))).rejects.toMatchObject({ code: 1 });
  await expect(run(copyJobCommand({ kind: 'checkpoint', path: archived }, undefined))).rejects.toMatchObject({ code: 2 });
});
