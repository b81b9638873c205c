import { chmod, copyFile, mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Copied beside and renamed: a cache that holds the program holds all of it. */
export async function installProgram(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  const beside = `${to}.${process.pid}`;
  await copyFile(from, beside);
  await chmod(beside, 0o755);
  await rename(beside, to);
}
