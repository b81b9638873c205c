import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../bundle/bundle-program.ts';

export interface GuestScript extends AsyncDisposable {
  path: string;
  /** An empty directory to run it in. */
  directory: string;
}

const SOURCE = fileURLToPath(new URL(`./guest/guest${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** Bundles the program of plugins' processes to one file: a process that reads one small file starts in half the time, and may be forbidden all others. */
export async function writeGuestScript(place = tmpdir()): Promise<GuestScript> {
  return putInPlace(place, Buffer.from(await bundleProgram(SOURCE)));
}

/** All workers of a user share one place for each program: one that is killed cannot clean up behind itself. */
async function putInPlace(place: string, program: Buffer): Promise<GuestScript> {
  const shared = join(place, `longshore-isolates-${createHash('sha256').update(program).digest('hex').slice(0, 16)}`);
  const own = await mkdtemp(`${shared}-`);
  const { path, directory } = partsOf(own);
  await writeFile(path, program, { mode: 0o444 });
  await mkdir(directory);
  // Read by processes of other users.
  await Promise.all([chmod(own, 0o755), chmod(directory, 0o555)]);
  const remove = () => rm(own, { recursive: true, force: true });
  const isMoved = await rename(own, shared).then(
    () => true,
    () => false,
  );
  if (!isMoved && !(await isOurs(shared, program))) return { path, directory, [Symbol.asyncDispose]: remove };
  if (!isMoved) await remove();
  return { ...partsOf(shared), [Symbol.asyncDispose]: async () => undefined };
}

function partsOf(root: string): Pick<GuestScript, 'path' | 'directory'> {
  return { path: join(root, 'guest.cjs'), directory: join(root, 'empty') };
}

/** Its name can be guessed, so somebody else may have made it. */
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
