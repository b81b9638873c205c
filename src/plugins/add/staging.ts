import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { failure } from '../../contracts/errors.ts';
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

/** @param parent the directory of plugins, which is made if it does not exist. @throws INVALID_ARGUMENT where that is not possible */
export async function openStaging(parent: string, name: string): Promise<Staging> {
  const directory = join(parent, `.add.${await nameProcess(process.pid)}.${randomBytes(4).toString('hex')}`);
  const root = join(directory, name);
  // No plugin has such a name.
  const work = join(directory, '.work');
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    await mkdir(parent, { recursive: true });
    await removeAbandoned(parent);
    await mkdir(directory, { mode: 0o700 });
    await mkdir(root);
    await mkdir(work);
  } catch (error) {
    await remove().catch(() => undefined);
    const problem = `${parent} cannot take a plugin (${(error as Error).message})`;
    throw failure('INVALID_ARGUMENT', { what: '--directory', problem, fix: 'Name a directory that you may write to' }, error);
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

export interface Placing {
  /** May refuse. Called while no other process puts a plugin into its place. */
  check(this: void): Promise<void>;
  /** What belongs to it. If it fails, what was in the place before is there again. */
  complete(this: void): Promise<void>;
}

/**
 * Puts a directory into its place. A process that is killed meanwhile leaves the old or the new directory; where it was killed between the two,
 * `recoverPlace` finds the old one.
 */
export function placeDirectory(staged: string, place: string, { check, complete }: Placing): Promise<void> {
  return alone(async () => {
    await recover(place);
    await check();
    const hadOne = await exists(place);
    if (hadOne) await rename(place, replacedAt(place));
    try {
      await rename(staged, place);
      await complete();
    } catch (error) {
      await rm(place, { recursive: true, force: true });
      if (hadOne) await rename(replacedAt(place), place);
      throw error;
    }
    await rm(replacedAt(place), { recursive: true, force: true });
  });
}

/** Ends what a killed process has begun. */
export function recoverPlace(place: string): Promise<void> {
  return alone(() => recover(place));
}

function alone(work: () => Promise<void>): Promise<void> {
  return withLock(userLock('add-plugin'), work);
}

async function recover(place: string): Promise<void> {
  if (!(await exists(replacedAt(place)))) return;
  if (await exists(place)) await rm(replacedAt(place), { recursive: true });
  else await rename(replacedAt(place), place);
}

function replacedAt(place: string): string {
  return join(dirname(place), `.${basename(place)}.replaced`);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
