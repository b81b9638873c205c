import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { userLock, withLock } from '../../platform/lock.ts';
import { isGone, nameProcess } from '../../platform/process-identity.ts';

/** Directories in which the files of a plugin wait until they are put into their place. Disposal removes them. */
export interface Staging extends AsyncDisposable {
  /** Holds `root`, beside the place of the plugin. */
  directory: string;
  /** Empty, and named like the plugin. */
  root: string;
  /** For programs that fetch. */
  work: string;
}

const STAGED = /^\.add\.(.+)\.[0-9a-f]{8}$/;

/** @param parent the directory of plugins, which is made if it does not exist */
export async function openStaging(parent: string, name: string): Promise<Staging> {
  await mkdir(parent, { recursive: true });
  await removeAbandoned(parent);
  const directory = join(parent, `.add.${await nameProcess(process.pid)}.${randomBytes(4).toString('hex')}`);
  const root = join(directory, name);
  const work = await mkdtemp(join(tmpdir(), 'longshore-add-'));
  const remove = async () => {
    await rm(directory, { recursive: true, force: true });
    await rm(work, { recursive: true, force: true });
  };
  try {
    await mkdir(directory, { mode: 0o700 });
    await mkdir(root);
  } catch (error) {
    await remove();
    throw error;
  }
  return { directory, root, work, [Symbol.asyncDispose]: remove };
}

/** What a killed process has left. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const entry of await readdir(parent)) {
    const owner = STAGED.exec(entry)?.[1];
    if (owner !== undefined && (await isGone(owner))) await rm(join(parent, entry), { recursive: true, force: true });
  }
}

/**
 * Puts a directory into its place and then does `work`, while no other process does so. If that fails, what was in the place before is there again. A process
 * that is killed leaves the old or the new directory; where it was killed in between, the next call finds the old one.
 */
export function placeDirectory(staged: string, place: string, work: () => Promise<void>): Promise<void> {
  const replaced = join(dirname(place), `.${basename(place)}.replaced`);
  return withLock(userLock('add-plugin'), async () => {
    await recover(place, replaced);
    const hadOne = await exists(place);
    if (hadOne) await rename(place, replaced);
    try {
      await rename(staged, place);
      await work();
    } catch (error) {
      await rm(place, { recursive: true, force: true });
      if (hadOne) await rename(replaced, place);
      throw error;
    }
    await rm(replaced, { recursive: true, force: true });
  });
}

async function recover(place: string, replaced: string): Promise<void> {
  if (!(await exists(replaced))) return;
  if (await exists(place)) await rm(replaced, { recursive: true });
  else await rename(replaced, place);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
