import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
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
afterEach(() => rm(directory, { recursive: true }));

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
