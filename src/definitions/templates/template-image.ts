import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../contracts/json.ts';
import { failure } from '../../contracts/errors.ts';
import { sandboxImageInputs } from '../../setup/sandbox-image.ts';
import { stableJson } from '../../common/stable-json.ts';
import type { TemplateBuild } from './template.ts';

/** Has to grow when the same definition is built in another way. */
const RECIPE = 2;
const HASH_LENGTH = 16;
const RUNNABLE = 0o100;

/** How the names of images of templates begin. Other names of the same images are those of people. */
export const TEMPLATE_IMAGES = 'longshore-template:';

/** The name of a template's image. It contains a hash of all inputs, so it is the same on every machine and different after every change. */
export async function templateImage(name: string, build: TemplateBuild): Promise<string> {
  const { dockerfile, ...definition } = build;
  const hash = createHash('sha256');
  hash.update(stableJson([RECIPE, await sandboxImageInputs(), definition as unknown as JsonObject]));
  if (dockerfile !== undefined) await addContext(hash, dockerfile);
  return `${TEMPLATE_IMAGES}${name}-${hash.digest('hex').slice(0, HASH_LENGTH)}`;
}

/** Names and contents of a Dockerfile's directory, where its links lead, and which files can be run: of the rights, git keeps nothing else, and the name is the same on every machine. */
async function addContext(hash: ReturnType<typeof createHash>, dockerfile: string): Promise<void> {
  const directory = dirname(dockerfile);
  try {
    hash.update(`\0${dockerfile.slice(directory.length)}\0`);
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const pathsOf = (kind: 'isFile' | 'isSymbolicLink') => entries.filter((entry) => entry[kind]()).map((entry) => join(entry.parentPath, entry.name));
    const files = pathsOf('isFile');
    for (const path of files.toSorted()) {
      const bytes = await readFile(path);
      hash.update(`${path.slice(directory.length)}\0${bytes.length}\0`).update(bytes);
      if (((await stat(path)).mode & RUNNABLE) !== 0) hash.update('\0runnable\0');
    }
    for (const path of pathsOf('isSymbolicLink').toSorted()) hash.update(`\0link\0${path.slice(directory.length)}\0${await readlink(path)}\0`);
    if (!files.includes(dockerfile)) throw new Error('no such file');
  } catch (error) {
    const problem = `"${dockerfile}" cannot be read (${(error as Error).message})`;
    throw failure('TEMPLATE_INVALID', { file: dockerfile, path: 'dockerfile', problem, fix: 'Name a Dockerfile, relative to the template' }, error);
  }
}
