import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureGvisorScript, judgeGvisorScript } from '../../src/setup/gvisor-script.ts';

/** Writes down how it was called, and does what `RUNSC` says. */
const FAKE = `#!/bin/sh
for argument; do printf '%s\\n' "$argument"; done > "$CALLS"
echo "gVisor's own words" >&2
eval "$RUNSC"
`;
const ID = 'c0ffee';
const WRITE = 'for name in checkpoint pages_meta pages; do echo "$name" > "$IMAGE/$name.img"; done';

let directory: string;
let script: string;
/** Where gVisor writes a checkpoint to and reads it from, for the engine. */
let image: string;
let checkpoints: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore gvisor-'));
  ({ script } = await ensureGvisorScript(directory));
  await writeFile(join(directory, 'bin/runsc'), FAKE);
  await chmod(join(directory, 'bin/runsc'), 0o755);
  const containers = join(directory, 'data root/containers');
  checkpoints = join(containers, ID, 'checkpoints');
  image = join(directory, 'ctd-checkpoint1');
  for (const made of [checkpoints, image, join(directory, 'bundle')]) await mkdir(made, { recursive: true });
  const mounts = [
    { destination: '/proc', source: 'proc' },
    { destination: '/etc/resolv.conf', source: join(containers, 'bead5', 'resolv.conf') },
  ];
  await writeFile(join(directory, 'bundle/config.json'), JSON.stringify({ ociVersion: '1.0.2', mounts, linux: {} }));
});
afterEach(() => rm(directory, { recursive: true }));

/** Programs in a directory `first` are found before those of the machine. */
async function run(args: string[], runsc = ':'): Promise<{ code: number; stderr: string; calls: string[] }> {
  const calls = join(directory, 'calls');
  const env = { ...process.env, PATH: `${join(directory, 'first')}:${process.env['PATH']}`, CALLS: calls, RUNSC: runsc, IMAGE: image };
  const outcome = await promisify(execFile)(script, args, { cwd: join(directory, 'bundle'), env }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
  );
  return { ...outcome, calls: (await readFile(calls, 'utf8')).trimEnd().split('\n') };
}

const GLOBAL = ['--network=none', '--root', '/run/some where', '--log-format', 'json'];
const checkpoint = () => [...GLOBAL, 'checkpoint', '--image-path', image, '--work-path', '/w', ID];
const begun = (name: string) => mkdir(join(checkpoints, name));
const pagesAreIn = async () => ((await readlink(join(image, 'pages.img')).catch(() => undefined)) === undefined ? 'the checkpoint' : 'their own directory');

describe('the script that engines start gVisor by', () => {
  test.each([
    ['exec', [...GLOBAL, 'exec', '--process', '/tmp/a b', '--detach', ID]],
    ['a word that is no command of gVisor', ['state', 'checkpoint']],
    ['nothing', []],
  ])('passes on %s as it is, with its exit code and its words', async (_what, args) => {
    expect(await run(args, 'exit 7')).toEqual({ code: 7, stderr: "gVisor's own words\n", calls: args.length > 0 ? args : [''] });
  });

  test('moves the pages of a checkpoint beside the directory that the engine has made for it, and leaves a link', async () => {
    await begun('rest-7');
    await begun('rest-5');
    await writeFile(join(checkpoints, 'rest-5/checkpoint.img'), 'an older one');
    expect(await run(checkpoint(), WRITE)).toEqual({ code: 0, stderr: "gVisor's own words\n", calls: checkpoint() });
    expect(await readlink(join(image, 'pages.img'))).toBe(join(checkpoints, 'rest-7.pages/pages.img'));
    expect(await readFile(join(image, 'pages.img'), 'utf8')).toBe('pages\n');
    expect((await readdir(image)).toSorted()).toEqual(['checkpoint.img', 'pages.img', 'pages_meta.img']);
    expect(await readdir(join(checkpoints, 'rest-7'))).toEqual([]);
  });

  test('puts the pages in the place of those that a failed attempt of that name has left', async () => {
    await begun('copy-snap_1');
    await begun('copy-snap_1.pages');
    await writeFile(join(checkpoints, 'copy-snap_1.pages/pages.img'), 'old');
    await run(checkpoint(), WRITE);
    expect(await readFile(join(checkpoints, 'copy-snap_1.pages/pages.img'), 'utf8')).toBe('pages\n');
  });

  test.each([
    ['the engine keeps the checkpoint elsewhere', async () => undefined],
    ['the checkpoint is not of Longshore', () => begun('mine')],
    ['a crash has left a second empty directory', () => Promise.all([begun('rest-5'), begun('rest-7')])],
    ['the container is described in another way', () => Promise.all([begun('rest-7'), writeFile(join(directory, 'bundle/config.json'), '{}')])],
    ['the description is missing', () => Promise.all([begun('rest-7'), rm(join(directory, 'bundle/config.json'))])],
  ])('leaves the pages where they are when %s', async (_what, arrange) => {
    await arrange();
    expect(await run(checkpoint(), WRITE)).toMatchObject({ code: 0, stderr: "gVisor's own words\n" });
    expect(await pagesAreIn()).toBe('the checkpoint');
  });

  test.each([
    ['do not fit where they belong', 'exit 1'],
    ['cannot be linked to', 'case $1 in *pages.link) exit 1 ;; *) exec /bin/mv "$@" ;; esac'],
  ])('leaves the pages where they are when they %s', async (_what, mv) => {
    await begun('rest-7');
    await mkdir(join(directory, 'first'));
    await writeFile(join(directory, 'first/mv'), `#!/bin/sh\n${mv}\n`, { mode: 0o755 });
    expect(await run(checkpoint(), WRITE)).toMatchObject({ code: 0, stderr: "gVisor's own words\n" });
    expect(await pagesAreIn()).toBe('the checkpoint');
    expect(await readFile(join(image, 'pages.img'), 'utf8')).toBe('pages\n');
    expect((await readdir(image)).toSorted()).toEqual(['checkpoint.img', 'pages.img', 'pages_meta.img']);
  });

  test('touches nothing when gVisor fails, and tells its exit code', async () => {
    await begun('rest-7');
    expect(await run(checkpoint(), `${WRITE}; exit 128`)).toMatchObject({ code: 128 });
    expect(await pagesAreIn()).toBe('the checkpoint');
    expect(await readdir(checkpoints)).toEqual(['rest-7']);
  });

  test.each([
    ['when gVisor has restored it', 0],
    ['when it could not', 128],
  ])('removes what was unpacked for one restore, and never the pages, %s', async (_what, code) => {
    const unpacked = join(directory, 'ctrd-checkpoint42');
    const pages = join(checkpoints, 'rest-7.pages');
    for (const made of [unpacked, pages]) await mkdir(made);
    await writeFile(join(pages, 'pages.img'), 'pages\n');
    await symlink(join(pages, 'pages.img'), join(unpacked, 'pages.img'));
    const args = [...GLOBAL, 'restore', '--image-path', unpacked, '--detach', '--bundle', join(directory, 'bundle'), ID];
    expect(await run(args, `cat "${unpacked}/pages.img" >&2; exit ${code}`)).toEqual({ code, stderr: "gVisor's own words\npages\n", calls: args });
    expect((await readdir(directory)).includes('ctrd-checkpoint42')).toBe(false);
    expect(await readdir(pages)).toEqual(['pages.img']);
  });

  test('leaves what another caller restores from', async () => {
    const args = ['restore', `--image-path=${image}`, ID];
    expect(await run(args)).toMatchObject({ code: 0, calls: args });
    expect(await readdir(directory)).toContain('ctd-checkpoint1');
  });

  test('is written once, written again when it differs, and judged by what an engine has registered', async () => {
    expect(await ensureGvisorScript(directory)).toEqual({ script, written: false });
    expect(await judgeGvisorScript(script)).toBe('current');
    expect(await judgeGvisorScript(join(directory, 'bin/runsc'))).toBe('other');
    expect(await judgeGvisorScript(undefined)).toBe('other');
    // On the machine of an engine elsewhere.
    expect(await judgeGvisorScript('/elsewhere/longshore-runsc')).toBe('current');
    await writeFile(script, 'of another version');
    expect(await judgeGvisorScript(script)).toBe('old');
    expect(await ensureGvisorScript(directory)).toEqual({ script, written: true });
  });
});
