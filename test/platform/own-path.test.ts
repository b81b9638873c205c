import { chmod, chown, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../../src/platform/lock.ts';
import { ensureOwnDirectory } from '../../src/platform/own-path.ts';
import { createHeldAuthority } from '../../src/sandbox/egress/authority.ts';

const testAsRoot = process.geteuid?.() === 0 ? test : test.skip;
const STRANGER = 64_321;
let above: string;
let home: string;
let key: string;

beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'longshore-own-'));
  home = join(above, 'home');
  key = join(home, 'egress-authority.pem');
});
afterEach(() => rm(above, { recursive: true }));

const authority = () => createHeldAuthority(home).certificate();
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('the key is made for its owner alone, in a directory of his own, and taken again', async () => {
  const made = await authority();
  expect([await modeOf(home), await modeOf(key)]).toEqual(['700', '600']);
  expect(await authority()).toBe(made);
  expect(await readdir(home)).toEqual(['egress-authority.pem']);
});

test('a home that cannot be made is named, with what the system says', async () => {
  await writeFile(home, '');
  const within = join(home, 'dev');
  await expect(ensureOwnDirectory(within)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `LONGSHORE_HOME: the directory "${within}" cannot be made (not a directory). Choose another place that you can write to`,
  });
});

test.each([0o644, 0o640, 0o604, 0o620, 0o602])('a key with the mode %o is refused, with the command that repairs it', async (mode) => {
  const made = await authority();
  await chmod(key, mode);
  await expect(authority()).rejects.toMatchObject({
    message: `LONGSHORE_HOME: other users can read the secret "${key}" (mode ${mode.toString(8)}). Run: chmod 600 ${key}, or if another user may have read it, rm ${key}: a new one is made`,
  });
  await chmod(key, 0o600);
  expect(await authority()).toBe(made);
});

test('a key that is a link, a directory, or no key is refused', async () => {
  await authority();
  await writeFile(join(above, 'planted'), await readFile(key), { mode: 0o600 });
  await rm(key);
  await symlink(join(above, 'planted'), key);
  await expect(authority()).rejects.toThrow(`the secret "${key}" is a symbolic link. Remove it: rm ${key}`);
  await rm(key);
  await mkdir(key);
  await expect(authority()).rejects.toThrow(`"${key}" is not a file. Remove it: rm -r ${key}`);
  await rm(key, { recursive: true });
  await writeFile(key, 'nothing', { mode: 0o600 });
  await expect(authority()).rejects.toThrow(`"${key}" does not hold a key and its certificate. Remove it, and a new one is made: rm ${key}`);
});

test('a directory that others can write to is refused, and so is one above it', async () => {
  await authority();
  await chmod(home, 0o777);
  await expect(authority()).rejects.toThrow(`other users can write to "${home}" (mode 777). Look for what is not yours in it, then run: chmod go-w ${home}`);
  await chmod(home, 0o755);
  await authority();
  await chmod(above, 0o777);
  await expect(authority()).rejects.toThrow(`all users can write to "${above}" above it (mode 777). Choose another directory, or run: chmod o-w ${above}`);
  // As /tmp: there only owners rename what is theirs.
  await chmod(above, 0o1777);
  await authority();
});

testAsRoot('what belongs to another user is refused', async () => {
  await authority();
  await chown(key, STRANGER, STRANGER);
  await expect(authority()).rejects.toThrow(`the secret "${key}" belongs to user ${STRANGER}, not to 0. If it should be yours, run: chown 0 ${key}`);
  await chown(key, 0, 0);
  await chown(home, STRANGER, STRANGER);
  await expect(authority()).rejects.toThrow(`"${home}" belongs to user ${STRANGER}, not to 0`);
  await chown(home, 0, 0);
  await chown(above, STRANGER, STRANGER);
  await expect(ensureOwnDirectory(home)).rejects.toThrow(`"${above}" above it belongs to user ${STRANGER}`);
  await chown(above, 0, 0);
});

test('a lock is not taken where another user could hold it for ever', async () => {
  await mkdir(home, { mode: 0o700 });
  await chmod(home, 0o777);
  await expect(withLock(join(home, 'lock'), async () => 'done')).rejects.toThrow(`other users can write to "${home}"`);
  await chmod(home, 0o700);
  expect(await withLock(join(home, 'lock'), async () => 'done')).toBe('done');
});
