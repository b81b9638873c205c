import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureOwnDirectory } from '../platform/own-path.ts';
import { withLock } from '../platform/lock.ts';
import { mustRun } from '../platform/run-command.ts';

/** Each directory in it has a package.json and a package-lock.json, so that npm checks every download against the digest in the lock file. */
const DEFINITIONS = join(import.meta.dirname, '../../setup');

export interface PinnedPackagesOptions {
  /** A directory of `setup/`. */
  name: 'node' | 'postgres' | 'mcp-conformance' | 'mcp-servers';
  /** The directory of caches. */
  home: string;
  log: (line: string) => void;
  /** What the error says to do when the packages cannot be installed. */
  fix: string;
  signal?: AbortSignal | undefined;
}

/** The `node_modules` directory where the packages of `setup/<name>` are or will be installed. Its path depends on the content of the lock file. */
export async function pinnedPackagesDirectory(name: PinnedPackagesOptions['name'], home: string): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(DEFINITIONS, name, 'package-lock.json')));
  return join(home, 'packages', `${name}-${hash.digest('hex').slice(0, 12)}`, 'node_modules');
}

/**
 * Installs the packages of `setup/<name>` from npm's registry when they are not installed yet, without their install scripts.
 * @returns their `node_modules` directory.
 * @throws SETUP_FAILED with the last lines of npm's output.
 */
export async function installPinnedPackages({ name, home, log, fix, signal }: PinnedPackagesOptions): Promise<string> {
  const modules = await pinnedPackagesDirectory(name, home);
  await ensureOwnDirectory(home);
  if (existsSync(modules)) return modules;
  const install = async () => {
    if (existsSync(modules)) return modules;
    log(`installing the packages of setup/${name} from npm's registry (once)`);
    const place = join(modules, '..');
    // Made in a temporary directory and renamed: a directory that exists is complete.
    const partial = `${place}.${process.pid}`;
    await mkdir(partial, { recursive: true });
    try {
      await cp(join(DEFINITIONS, name), partial, { recursive: true });
      const flags = ['--ignore-scripts', '--no-fund', '--no-audit', '--no-update-notifier', '--loglevel=error'];
      await mustRun(`Installing the packages of setup/${name}`, 'npm', ['ci', ...flags], { cwd: partial, fix, signal });
      await rm(place, { recursive: true, force: true });
      await rename(partial, place);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
    return modules;
  };
  return await withLock(join(home, `packages-${name}.lock`), install, signal);
}
