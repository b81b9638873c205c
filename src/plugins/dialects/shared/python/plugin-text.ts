import { createHash } from 'node:crypto';
import { PLUGIN_ID } from '../../../api/define-plugin.ts';
import { pluginInvalid } from '../../../api/plugin-invalid.ts';
import { readPluginFile } from '../../../files/read-plugin-file.ts';

const LONGEST_ID = 40;

/** A text file of a plugin; `otherwise` stands for one that does not exist. @throws PLUGIN_INVALID */
export async function readText(name: string, root: string, file: string, otherwise?: string): Promise<string> {
  try {
    return await readPluginFile(root, file);
  } catch (error) {
    if (otherwise !== undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw pluginInvalid(name, `its ${file} cannot be read: ${(error as Error).message}`, 'Put the file itself there', error);
  }
}

/** Most ids are usable as they are. Another one is shortened, and gets a digest of the whole as its end. */
export function usableId(given: string, dialect: string): string {
  if (PLUGIN_ID.test(given)) return given;
  const digest = createHash('sha256').update(given).digest('hex').slice(0, 8);
  const plain = given.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z]+/, '');
  return `${plain.slice(0, LONGEST_ID - 9) || dialect}-${digest}`;
}
