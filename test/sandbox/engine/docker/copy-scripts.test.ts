import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyScript, packScript, unpackScript } from '../../../../src/sandbox/engine/docker/copy-scripts.ts';

/** Where the engine has the pages of the copy; in a job nothing is there. */
const ENGINE_PAGES = '/var/lib/engine/containers/c0ffee/checkpoints/rest-0.pages/pages.img';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore copies-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** As a copy job does. Places are directories here. */
const run = (script: string, from: string, to: string) => promisify(execFile)('sh', ['-c', script, 'sh', from, to, ENGINE_PAGES], { cwd: directory });
/** A packing script ends in a pipe to the engine. */
const through = (pack: string, unpack: string) => `(${pack}) | (${unpack})`;
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
    const scripts = { copied: copyScript('checkpoint', 'checkpoint'), unpacked: through(packScript('checkpoint'), unpackScript('checkpoint')) };
    for (const [name, script] of Object.entries(scripts)) {
      const to = join(directory, name);
      await run(script, from, to);
      expect((await readdir(to)).toSorted()).toEqual(['checkpoint.img', 'pages.img']);
      expect(await readlink(join(to, 'pages.img'))).toBe(ENGINE_PAGES);
      expect(await read(`${to}.pages`, 'pages.img')).toBe('memory');
    }
  });

  test('is whole in the volume of a snapshot and in an archive, and comes back from there', async () => {
    const from = await checkpointAt('rest-7', pages);
    const [volume, files, back] = [join(directory, 'volume'), join(directory, 'files'), join(directory, 'rest-0')] as const;
    await run(copyScript('checkpoint', 'volume'), from, volume);
    await run(through(packScript('checkpoint'), unpackScript('volume')), from, files);
    for (const place of [volume, files]) {
      expect((await readdir(place)).toSorted()).toEqual(['checkpoint.img', 'pages.img']);
      expect(await read(place, 'pages.img')).toBe('memory');
    }
    await run(copyScript('volume', 'checkpoint'), volume, back);
    expect(await read(`${back}.pages`, 'pages.img')).toBe('memory');
    expect(await read(from, 'checkpoint.img')).toBe('state');
  });
});

test('the files of a sandbox are copied as they are, whatever their names', async () => {
  const from = join(directory, 'volume');
  await mkdir(from);
  await writeFile(join(from, 'kept'), 'yes');
  await symlink('/etc/hostname', join(from, 'pages.img'));
  for (const script of [copyScript('volume', 'volume'), through(packScript('volume'), unpackScript('volume'))]) {
    const to = await mkdtemp(join(directory, 'to-'));
    await run(script, from, to);
    expect(await readlink(join(to, 'pages.img'))).toBe('/etc/hostname');
    expect(await read(to, 'kept')).toBe('yes');
  }
});

test('a checkpoint is refused whose pages are a link of unknown origin, or are not there', async () => {
  const archived = join(directory, 'archived');
  await mkdir(archived);
  await symlink('/etc/shadow', join(archived, 'pages.img'));
  await expect(run(copyScript('volume', 'checkpoint'), archived, join(directory, 'rest-0'))).rejects.toMatchObject({ code: 1 });
  await expect(run(through(packScript('volume'), unpackScript('checkpoint')), archived, join(directory, 'rest-1'))).rejects.toMatchObject({ code: 1 });
  await expect(run(copyScript('checkpoint', 'volume'), archived, join(directory, 'volume'))).rejects.toMatchObject({ code: 1 });
  await expect(run(`{ ${packScript('checkpoint')}; } > /dev/null`, archived, '')).rejects.toMatchObject({ code: 2 });
});
