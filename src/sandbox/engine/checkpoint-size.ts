import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The unit of `stat`'s block count on every file system. */
const BLOCK_BYTES = 512;

/**
 * Bytes that the checkpoints of a container and their pages use in the engine's directory. Undefined when this process cannot read the directory: it is not
 * root, or the engine is on another machine. No call of an engine returns this size, and a container that reads it would need a mount of the host.
 */
export async function checkpointSize(dataDirectory: string, containerId: string): Promise<number | undefined> {
  return sizeOf(join(dataDirectory, 'containers', containerId, 'checkpoints')).catch(() => undefined);
}

async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    bytes += entry.isDirectory() ? await sizeOf(path) : (await lstat(path)).blocks * BLOCK_BYTES;
  }
  return bytes;
}
