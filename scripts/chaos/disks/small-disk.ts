import { chmod, mkdir, mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mustRun, runCommand } from '../../../src/platform/run-command.ts';

/** A file system of a fixed size, mounted from a file. */
export interface SmallDisk extends AsyncDisposable {
  directory: string;
  /** Returns when no block is left; those that others give back meanwhile are taken as well, until `free`. */
  fill(): Promise<void>;
  free(): Promise<void>;
}

const PIECES = [Buffer.alloc(1 << 20), Buffer.alloc(4096)];
const LOOK_MS = 50;
const UNMOUNTS = 50;

/** Why this machine cannot have one; undefined when it can. */
export async function whyNoSmallDisk(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return 'only root on Linux can mount a small disk';
  return (await runCommand('mkfs.ext4', ['-V'])).code === 0 ? undefined : 'there is no mkfs.ext4';
}

export async function openSmallDisk(megabytes: number): Promise<SmallDisk> {
  const root = await mkdtemp(join(tmpdir(), 'longshore-disk-'));
  const [image, directory] = [join(root, 'image'), join(root, 'disk')];
  const fix = 'See what it says';
  try {
    // A server that is not root has to reach it.
    await chmod(root, 0o755);
    await mkdir(directory);
    await mustRun('Making a small disk', 'mkfs.ext4', ['-q', '-m', '0', image, `${megabytes}M`], { fix });
    await mustRun('Mounting a small disk', 'mount', ['-o', 'loop', image, directory], { fix });
  } catch (error) {
    await rm(root, { recursive: true, force: true });
    throw error;
  }
  let filling: { stop: AbortController; done: Promise<void> } | undefined;
  const free = async () => {
    filling?.stop.abort();
    await filling?.done;
    filling = undefined;
  };
  return {
    directory,
    async fill() {
      const file = join(directory, 'filler');
      const handle = await open(file, 'a');
      await writeToTheLastBlock(handle);
      const stop = new AbortController();
      filling = { stop, done: keepFull(handle, file, stop.signal) };
    },
    free,
    async [Symbol.asyncDispose]() {
      await free();
      // What used it last may still be ending.
      for (let tries = 1; (await runCommand('umount', [directory])).code !== 0 && tries < UNMOUNTS; tries += 1) await sleep(LOOK_MS);
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function keepFull(handle: FileHandle, file: string, until: AbortSignal): Promise<void> {
  try {
    while (await sleep(LOOK_MS, true, { signal: until }).catch(() => false)) await writeToTheLastBlock(handle);
  } finally {
    await handle.close();
    await rm(file);
  }
}

async function writeToTheLastBlock(handle: FileHandle): Promise<void> {
  for (const piece of PIECES) while (await hasTaken(handle, piece)) /* more */ ;
}

async function hasTaken(handle: FileHandle, piece: Buffer): Promise<boolean> {
  try {
    return (await handle.write(piece)).bytesWritten === piece.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
