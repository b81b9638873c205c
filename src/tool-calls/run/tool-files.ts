import { open, realpath } from 'node:fs/promises';
import { basename, isAbsolute, posix, resolve, sep } from 'node:path';
import { failure } from '../../contracts/errors.ts';
import type { FileSource, ToolContext, ToolFiles } from '../../plugins/api/tool-context.ts';
import type { ToolRun } from './tool-run.ts';
import type { CallSandbox } from './tool-sandbox.ts';

const HOME = '/home/user';
const DEFAULT_DIRECTORY = `${HOME}/files`;
const MAX_BYTES = 20 * 1024 * 1024;
const MAX_NAME_BYTES = 200;

/** Copies files into the conversation's sandbox and out of it. Paths there are passed to the sandbox unchanged: its own user opens them. */
export function filesFor(run: Pick<ToolRun, 'services' | 'args'>, sandbox: Pick<CallSandbox, 'handle'>, fetch: ToolContext['fetch']): ToolFiles {
  return {
    async put(source, { name, directory = DEFAULT_DIRECTORY } = {}) {
      const fileName = checkedName(name ?? nameOf(source));
      const bytes = await read(source);
      if (bytes.length > MAX_BYTES) throw refused(fileName, `${bytes.length} bytes are too many; at most ${MAX_BYTES} are allowed`);
      const path = posix.join(posix.resolve(HOME, directory), fileName);
      await (await sandbox.handle()).writeFile(path, bytes);
      return path;
    },
    async get(path, { maxBytes = MAX_BYTES } = {}) {
      const handle = await sandbox.handle();
      return handle.readFile(posix.resolve(HOME, path), { maxBytes: Math.min(maxBytes, MAX_BYTES) });
    },
  };

  async function read(source: FileSource): Promise<Uint8Array> {
    if ('bytes' in source) return source.bytes;
    if ('hostPath' in source) return readHostFile(source.hostPath, run.services.filesDirectory);
    const response = await fetch(source.url);
    if (!response.ok) throw refused(source.url, `the server answered ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }
}

function nameOf(source: FileSource): string {
  if ('bytes' in source) return source.name;
  if ('hostPath' in source) return basename(source.hostPath);
  const name = posix.basename(URL.canParse(source.url) ? new URL(source.url).pathname : '');
  return name === '' || name === '/' ? 'download' : name;
}

/** A name is a single part of a path, so that no name leads out of the directory. */
function checkedName(name: string): string {
  const isPlain = name !== '' && name !== '.' && name !== '..' && !/[/\\\p{Cc}]/u.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
  if (isPlain) return name;
  throw refused(JSON.stringify(name.slice(0, MAX_NAME_BYTES)), `is no plain file name; use one without / and \\, ${MAX_NAME_BYTES} bytes at most`);
}

/** All links are resolved before the path is compared with the directory, and the file is opened by the compared path. */
async function readHostFile(hostPath: string, directory: string | undefined): Promise<Uint8Array> {
  if (directory === undefined) throw refused(hostPath, 'this worker forwards no files of its host; its operator may set LONGSHORE_FILES to a directory');
  const root = await realpath(directory).catch(() => resolve(directory));
  const asked = isAbsolute(hostPath) ? hostPath : resolve(root, hostPath);
  const path = await realpath(asked).catch(() => undefined);
  // A missing file and a forbidden file give the same error: a tool learns nothing about the host.
  if (path === undefined || !path.startsWith(root.endsWith(sep) ? root : root + sep)) throw refused(hostPath, 'there is no such file that tools may forward');
  await using file = await open(path);
  const { size, isFile } = await file.stat().then((found) => ({ size: found.size, isFile: found.isFile() }));
  if (!isFile) throw refused(hostPath, 'is not a regular file');
  if (size > MAX_BYTES) throw refused(hostPath, `${size} bytes are too many; at most ${MAX_BYTES} are allowed`);
  return file.readFile();
}

function refused(path: string, problem: string): Error {
  return failure('FILE_FAILED', { path, problem });
}
