import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isBelow } from './territory.ts';
import { readRealFile } from './read-real-file.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * Reads a text file that describes a plugin. Links are followed only within the plugin's own directory.
 * @throws an Error with the reason.
 */
export async function readPluginFile(root: string, file: string): Promise<string> {
  const top = await realpath(root);
  const found = await readRealFile(await realpath(join(root, file)), (real) => isBelow(real, top), MAX_BYTES);
  if ('content' in found) return found.content.toString('utf8');
  throw new Error(found.problem === 'refused' ? 'it is no file within the plugin that can be read' : `it has ${found.size} bytes, and may have ${MAX_BYTES}`);
}
