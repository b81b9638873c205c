import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What `stat` counts in, whatever the file system does. */
const BLOCK_BYTES = 512;

/**
 * Bytes that the checkpoints of a container take up in the engine's directory, their pages included. Undefined where this process may not look there, as one
 * that is not root, or on another machine than the engine's: no call of an engine tells it, and a container to look at it would need a mount of the host.
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
