import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import { failure, isFailure } from '../../../contracts/errors.ts';
import type { WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { FileEdit, FileInfo, FileToWrite, SandboxFiles, WriteFileOptions } from '../../api/files.ts';
import { editText } from './edit-text.ts';
import { decodeText, detectEncoding, DETECTION_BYTES, encodeText } from './encoding.ts';
import { collectPieces, PIECE_BYTES } from './pieces.ts';

/** The longest file that is read without `maxBytes`. A longer one is an error; it is never cut silently. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const DEFAULT_MAX_ENTRIES = 10_000;
const MOST_ENTRIES = 100_000;
/** Each failed attempt means that another caller or a command has written the file. */
const EDIT_ATTEMPTS = 100;
const READ_ATTEMPTS = 20;
const WRITTEN_AT_ONCE = 8;

/** The forms of content after it was parsed. */
type Parsed = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Transfers of files and directories, and watches, have functions of their own. */
type FileOperations = Omit<SandboxFiles, 'uploadFile' | 'downloadFile' | 'uploadDirectory' | 'downloadDirectory' | 'watch'>;

/** Operations on files and directories, without transfers to and from this machine. */
export function createFileOperations(connection: WorkingConnection): FileOperations {
  return {
    readFile: ((path: string, options?: { maxBytes?: number; encoding?: string }) => readWhole(connection, path, options)) as SandboxFiles['readFile'],
    readFileStream: (path, options) => readPieces(connection, path, options),
    writeFile: (path, data: Parsed, options) => writeFile(connection, path, data, options),
    writeFiles: (all) => writeFiles(connection, all),
    editFile: (path, edit) => editFile(connection, path, edit),
    async listFiles(path, { recursive = false, maxEntries, pattern } = {}) {
      const asked = maxEntries ?? DEFAULT_MAX_ENTRIES;
      const { files, truncated } = await connection.listFiles(path, { recursive, maxEntries: asked, ...(pattern !== undefined && { pattern }) });
      // A caller that gives `maxEntries` wants at most that many.
      if (!truncated || maxEntries !== undefined) return files;
      const problem = `has more than ${asked} entries; narrow it with a pattern, list its directories one by one, or take up to ${MOST_ENTRIES} with maxEntries`;
      throw failure('FILE_FAILED', { path, problem });
    },
    async glob(pattern, { cwd = '.', hidden = false, maxEntries = DEFAULT_MAX_ENTRIES } = {}) {
      const { paths, truncated } = await connection.glob(pattern, { path: cwd, hidden, maxEntries });
      if (truncated)
        throw failure('FILE_FAILED', {
          path: pattern,
          problem: `more than ${maxEntries} paths fit; narrow the pattern, or take up to ${MOST_ENTRIES} with maxEntries`,
        });
      return paths.toSorted();
    },
    fileExists: async (path) => (await connection.fileInfo(path)) !== undefined,
    fileInfo: (path) => fileInfo(connection, path),
    removeFile: (path, { recursive = false } = {}) => connection.removeFile(path, { recursive }),
    createDirectory: (path, { parents = true } = {}) => connection.createDirectory(path, { parents }),
    rename: (from, to) => rename(connection, from, to),
  };
}

async function readWhole(connection: WorkingConnection, path: string, options: { maxBytes?: number; encoding?: string } = {}): Promise<Buffer | string> {
  const { maxBytes, encoding } = options;
  const { bytes, size } = await readSettled(connection, path, maxBytes ?? MAX_FILE_BYTES);
  if (maxBytes === undefined && size > bytes.length) {
    throw failure('FILE_FAILED', { path, problem: `it has ${size} bytes, more than ${MAX_FILE_BYTES}; read a part of it with maxBytes, or as a stream` });
  }
  return encoding === undefined ? bytes : decodeText(bytes, encoding, path);
}

/** Reads a file as it was at one moment: a file that is written in place during the read is read again. */
async function readSettled(connection: WorkingConnection, path: string, maxBytes: number): ReturnType<WorkingConnection['readFile']> {
  for (let attempt = 1; ; attempt += 1) {
    const read = await connection.readFile(path, maxBytes);
    // Supervisors of earlier images show a change only by the size.
    if (read.version !== '' && read.bytes.length === Math.min(read.size, maxBytes)) return read;
    if (attempt === READ_ATTEMPTS) throw failure('FILE_CHANGED', { path, problem: `it changed during each of the ${READ_ATTEMPTS} attempts to read it` });
    await new Promise((resolve) => setTimeout(resolve, attempt));
  }
}

/**
 * Each piece is a separate request: a stream that is not read keeps nothing open, and a sandbox may rest between two pieces. The next piece is requested while
 * the caller uses this one.
 */
async function* readPieces(connection: WorkingConnection, path: string, options: { offset?: number; maxBytes?: number } = {}): AsyncGenerator<Buffer> {
  let offset = options.offset ?? 0;
  const end = offset + (options.maxBytes ?? Number.MAX_SAFE_INTEGER - offset);
  const ask = () => {
    const asked = connection.readFile(path, Math.min(PIECE_BYTES, end - offset), offset);
    // A caller that stops reading never awaits it.
    asked.catch(() => undefined);
    return asked;
  };
  let first: string | undefined;
  for (let next = offset < end ? ask() : undefined; next !== undefined;) {
    const { bytes, size, version } = await next;
    first ??= version;
    if (version === '' || version !== first) throw failure('FILE_CHANGED', { path, problem: `it was written while it was read, at byte ${offset}` });
    offset += bytes.length;
    next = bytes.length > 0 && offset < Math.min(size, end) ? ask() : undefined;
    if (bytes.length > 0) yield bytes;
  }
}

async function writeFile(
  connection: WorkingConnection,
  path: string,
  data: string | Uint8Array | AsyncIterable<Uint8Array>,
  { mode, encoding = 'utf-8', createDirectories: parents = true }: WriteFileOptions = {},
): Promise<void> {
  const options = { parents, ...(mode !== undefined && { mode }) };
  if (typeof data === 'string') return connection.writeFile(path, encodeText(data, encoding), options);
  if (data instanceof Uint8Array) return connection.writeFile(path, data, options);
  return writePieces(connection, path, data, options);
}

async function writeFiles(connection: WorkingConnection, files: FileToWrite[]): Promise<void> {
  const failures: unknown[] = [];
  const waiting = files.values();
  const work = async () => {
    // All workers share the iterator: each takes the next file.
    for (const { path, data, ...options } of waiting) {
      await writeFile(connection, path, data as Parsed, options).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: WRITTEN_AT_ONCE }, work));
  if (failures.length > 0) throw failures[0];
}

async function writePieces(
  connection: WorkingConnection,
  path: string,
  source: AsyncIterable<Uint8Array>,
  { parents, ...options }: { parents: boolean; mode?: number },
): Promise<void> {
  const uploadId = randomBytes(8).toString('hex');
  let size = 0;
  let last: Promise<void> | undefined;
  try {
    for await (const piece of collectPieces(source, PIECE_BYTES)) {
      const before = last;
      last = connection.writePart(path, uploadId, piece, { offset: size, parents });
      last.catch(() => undefined);
      size += piece.byteLength;
      // The first part creates the file. After that, two parts at a time are on their way.
      await (before ?? last);
    }
    await (last ?? connection.writePart(path, uploadId, Buffer.alloc(0), { offset: 0, parents }));
    await connection.commitParts(path, uploadId, { size, ...options });
  } catch (error) {
    // The cause of the failure may also prevent the clean-up; the first error is the one to report.
    await last?.catch(() => undefined);
    await connection.dropParts(path, uploadId).catch(() => undefined);
    throw error;
  }
}

/** Reads, changes and writes. A change that was written in between is never overwritten. */
async function editFile(connection: WorkingConnection, path: string, edit: { oldText: string; newText: string }): Promise<FileEdit> {
  if (edit.oldText === '') {
    const exists = () => failure('FILE_FAILED', { path, problem: 'exists already; give the text to replace' });
    if ((await connection.fileInfo(path)) !== undefined) throw exists();
    await connection.writeFile(path, Buffer.from(edit.newText), { expected: '' }).catch((error: unknown) => {
      throw isFailure(error, 'FILE_CHANGED') ? exists() : error;
    });
    return { change: 'created', line: 1 };
  }
  for (let attempt = 1; ; attempt += 1) {
    const { bytes, size, version } = await readSettled(connection, path, MAX_FILE_BYTES);
    if (size > bytes.length)
      throw failure('FILE_FAILED', {
        path,
        problem: `it has ${size} bytes, more than can be edited (${MAX_FILE_BYTES}); change it with a command, such as sed`,
      });
    const edited = editText(bytes, edit, path);
    try {
      await connection.writeFile(path, edited.bytes, { expected: version });
      return edited.edit;
    } catch (error) {
      if (attempt === EDIT_ATTEMPTS || !isFailure(error, 'FILE_CHANGED')) throw error;
    }
  }
}

/** An error of the kernel does not say which of the two paths is missing. */
async function rename(connection: WorkingConnection, from: string, to: string): Promise<void> {
  try {
    await connection.rename(from, to);
  } catch (error) {
    if (!isFailure(error, 'FILE_NOT_FOUND') || (await connection.fileInfo(from)) === undefined) throw error;
    const directory = posix.dirname(to);
    throw failure('FILE_FAILED', { path: to, problem: `its directory ${directory} does not exist; create it with createDirectory("${directory}")` }, error);
  }
}

async function fileInfo(connection: WorkingConnection, path: string): Promise<FileInfo | undefined> {
  const info = await connection.fileInfo(path);
  if (info?.type !== 'file') return info;
  try {
    const { bytes, size } = await connection.readFile(path, DETECTION_BYTES);
    return { ...info, encoding: detectEncoding(bytes, size <= bytes.length) };
  } catch (error) {
    // The file is not readable, or was removed meanwhile.
    if (isFailure(error, 'FILE_FAILED') || isFailure(error, 'FILE_NOT_FOUND')) return info;
    throw error;
  }
}
