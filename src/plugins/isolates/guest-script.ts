import { createHash } from 'node:crypto';
import { access, chmod, lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../bundle/bundle-program.ts';

export interface GuestScript extends AsyncDisposable {
  path: string;
  /** An empty directory to run it in. */
  directory: string;
  /** False when they were removed: systems remove from their directory for temporary files what was not used for some days. */
  isThere(): Promise<boolean>;
}

const SOURCE = fileURLToPath(new URL(`./guest/guest${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** Bundles the program of plugins' processes into one file. A process that reads one small file starts in half the time, and may be denied all other files. */
export async function writeGuestScript(place = tmpdir()): Promise<GuestScript> {
  return putInPlace(place, Buffer.from(await bundleProgram(SOURCE)));
}

/** All workers of a user share one directory for each version of the program, because a killed worker cannot remove its own. */
async function putInPlace(place: string, program: Buffer): Promise<GuestScript> {
  const shared = join(place, `longshore-isolates-${createHash('sha256').update(program).digest('hex').slice(0, 16)}`);
  const own = await mkdtemp(`${shared}-`);
  const { path, directory } = partsOf(own);
  await writeFile(path, program, { mode: 0o444 });
  await mkdir(directory);
  // Processes of other users read them.
  await Promise.all([chmod(own, 0o755), chmod(directory, 0o555)]);
  const remove = () => rm(own, { recursive: true, force: true });
  const isMoved = await rename(own, shared).then(
    () => true,
    () => false,
  );
  if (!isMoved && !(await isOurs(shared, program))) return { ...scriptIn(own), [Symbol.asyncDispose]: remove };
  if (!isMoved) await remove();
  return { ...scriptIn(shared), [Symbol.asyncDispose]: async () => undefined };
}

function scriptIn(root: string): Omit<GuestScript, typeof Symbol.asyncDispose> {
  const parts = partsOf(root);
  const isThere = async (): Promise<boolean> => {
    const found = await Promise.all([parts.path, parts.directory].map((path) => access(path).catch((error: NodeJS.ErrnoException) => error.code)));
    return !found.includes('ENOENT');
  };
  return { ...parts, isThere };
}

function partsOf(root: string): Pick<GuestScript, 'path' | 'directory'> {
  return { path: join(root, 'guest.cjs'), directory: join(root, 'empty') };
}

/** The name can be guessed, so another user may have made the directory. */
async function isOurs(root: string, program: Buffer): Promise<boolean> {
  const { path, directory } = partsOf(root);
  try {
    const found = await Promise.all([root, path, directory].map((part) => lstat(part)));
    const isSafe = found.every((part) => !part.isSymbolicLink() && part.uid === process.getuid?.() && (part.mode & 0o022) === 0);
    return isSafe && program.equals(await readFile(path));
  } catch {
    return false;
  }
}
