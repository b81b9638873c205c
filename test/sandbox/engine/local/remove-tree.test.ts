import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDirectories } from '../../../../src/sandbox/engine/local/directories.ts';
import { guestDirectory } from '../../../../src/sandbox/engine/local/guest-user.ts';

const USER = '--reuid=65534 --regid=65534 --clear-groups';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'longshore-remove-'));
});
afterEach(() => {
  // As root, files of guests are in a public place.
  for (const place of [root, guestDirectory(root)]) spawnSync('rm', ['-rf', place]);
});

test.each([
  ['directories nested more deeply than a path can be long', `for i in $(seq 30); do mkdir ${'d'.repeat(200)} && cd ${'d'.repeat(200)} || exit 1; done`],
  ['a directory that its owner may not change', 'mkdir -p modules/m && touch modules/m/file && chmod 500 modules/m modules'],
])('a volume with %s is removed', async (_what, script) => {
  const directories = createDirectories(root);
  await directories.makePlace({ name: 'c', volumeName: 'v', labels: {} });
  const volume = directories.volumeDirectory('v');
  execFileSync('bash', ['-c', script], { cwd: join(volume, 'home') });
  await directories.removeVolume('v');
  expect(existsSync(volume)).toBe(false);
  expect(await directories.volumes()).toEqual([]);
});

test('files of a user without special rights are removed, although it may not change them', () => {
  const program = `
    import { removeTree } from ${JSON.stringify(new URL('../../../../src/sandbox/engine/local/remove-tree.ts', import.meta.url).href)};
    await removeTree(process.argv[1]);`;
  const place = join(root, 'place');
  execFileSync('bash', ['-c', 'mkdir -p "$0"/modules/m && touch "$0"/modules/m/file && chmod 500 "$0"/modules/m "$0"/modules && chmod 777 "$0/.."', place]);
  execFileSync('chown', ['-R', '65534:65534', place]);
  const { stderr, status } = spawnSync(
    'bash',
    ['-c', `exec setpriv ${USER} -- "$@"`, 'bash', process.execPath, '--import', 'tsx', '--input-type=module', '-e', program, place],
    {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], TMPDIR: root, HOME: root },
    },
  );
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  expect(existsSync(place)).toBe(false);
});
