import { readlink, realpath, stat } from 'node:fs/promises';
import { callbackify } from 'node:util';
import type { ResolveOptions } from 'enhanced-resolve';
import { readRealFile } from '../files/read-real-file.ts';
import type { Territory } from '../files/territory.ts';

type FileSystem = ResolveOptions['fileSystem'];

const MAX_BYTES = 1024 * 1024;

/**
 * A view of the file system for the resolution of imports. It has only files that a plugin may consist of: package.json and tsconfig.json of directories
 * above are not read.
 */
export function boundedFiles({ isNear, unitOf }: Territory): FileSystem {
  const near = <Value>(work: (path: string) => Promise<Value>) =>
    callbackify(async (path: string) => {
      if (isNear(path)) return work(path);
      throw absent(path);
    });
  const read = async (path: string): Promise<Buffer> => {
    const found = await readRealFile(await realpath(path), (real) => unitOf(real) !== undefined, MAX_BYTES);
    if ('content' in found) return found.content;
    throw absent(path);
  };
  return { stat: near((path) => stat(path)), readFile: near(read), readlink: near((path) => readlink(path)) } as unknown as FileSystem;
}

function absent(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`ENOENT: no such file, ${path}`), { code: 'ENOENT' });
}
