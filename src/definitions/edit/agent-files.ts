import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { readYaml } from '../../common/yaml-document.ts';
import { isObject, type JsonObject } from '../../contracts/json.ts';
import { failure } from '../../contracts/errors.ts';
import { userLock, withLock } from '../../platform/lock.ts';
import { writeWhole } from '../../platform/place-whole.ts';
import { readTextFile } from '../../platform/read-yaml-file.ts';
import { isDefinition, YAML_FILE } from '../parse/definition-files.ts';

/** The file of an agent that is written in YAML. */
export interface AgentFile {
  /** Id of the agent. */
  id: string;
  path: string;
  text: string;
  value: JsonObject;
}

/** A file with the text that it is to have. */
export interface ChangedFile {
  file: AgentFile;
  text: string;
}

/** The files of agents in YAML, as they are written. Those that cannot be read are left out. */
export async function readAgentFiles(directory: string): Promise<AgentFile[]> {
  const names = (await readdir(directory)).filter((name) => isDefinition(name) && YAML_FILE.test(name)).toSorted();
  const files = await Promise.all(
    names.map(async (name): Promise<AgentFile[]> => {
      const path = join(directory, name);
      const found = await readTextFile(path);
      if (!('text' in found)) return [];
      const { text } = found;
      const read = readYaml(text);
      if (!('value' in read) || !isObject(read.value)) return [];
      const { id } = read.value;
      return [{ id: typeof id === 'string' ? id : basename(name, extname(name)), path, text, value: read.value }];
    }),
  );
  return files.flat();
}

/**
 * Writes files whole, one caller after the other, so that none writes over what another one has just written. If one of them cannot be written, or is not as it
 * was read, all are as they were.
 * @throws INVALID_ARGUMENT for a file that another program has changed
 */
export function writeAgentFiles(changed: ChangedFile[]): Promise<void> {
  return withLock(userLock('agent-files'), () => writeUnlessChanged(changed));
}

async function writeUnlessChanged(changed: ChangedFile[]): Promise<void> {
  for (const { file } of changed) {
    if ((await readFile(file.path, 'utf8').catch(() => undefined)) === file.text) continue;
    throw failure('INVALID_ARGUMENT', { what: file.path, problem: 'it was changed by another program meanwhile', fix: 'Try again' });
  }
  const written: ChangedFile[] = [];
  try {
    for (const one of changed) {
      await write(one.file.path, one.text);
      written.push(one);
    }
  } catch (error) {
    for (const { file } of written) await write(file.path, file.text);
    throw error;
  }
}

/** Behind a link, the file itself is replaced. */
async function write(path: string, text: string): Promise<void> {
  const real = await realpath(path);
  const { mode } = await stat(real);
  await writeWhole(real, text, { mode: mode & 0o777 });
}
