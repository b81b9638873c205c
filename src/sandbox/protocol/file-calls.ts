import { failure, isFailure } from '../../contracts/errors.ts';
import type { FileInfo } from '../api/files.ts';
import type { Caller } from './caller.ts';
import { createCheckedLineReader, parseLines } from './lines.ts';
import { ProtocolBreach } from './protocol-breach.ts';
import type { RequestOf } from './protocol-types.ts';
import type { SupervisorConnection } from './supervisor-connection.ts';

type FileCalls = Pick<
  SupervisorConnection,
  'readFile' | 'writeFile' | 'listFiles' | 'glob' | 'fileInfo' | 'removeFile' | 'createDirectory' | 'rename' | 'packDirectory' | 'unpackDirectory' | 'watch'
>;

/** The operations on files. Each may be sent twice, so that a broken stream can be replaced at any moment. */
export function createFileCalls(caller: Caller): FileCalls {
  const fileInfo = async (path: string): Promise<FileInfo | undefined> => {
    const { info } = await caller.call({ operation: 'fileInfo', fields: () => ({ path }) });
    return info;
  };
  return {
    fileInfo,
    readFile: (path, maxBytes, offset = 0) => readFile(caller, { path, maxBytes, offset }),
    writeFile: (path, bytes, options = {}) => writeFile(caller, path, bytes, options),
    packDirectory: (path, sink) => caller.call({ operation: 'packDirectory', fields: () => ({ path }), onData: sink.onData, onRepeat: sink.onRepeat }),
    unpackDirectory: (path, open) => caller.call({ operation: 'unpackDirectory', fields: () => ({ path }), upload: open }),
    watch: (path, options) => watch(caller, path, options),
    async listFiles(path, options) {
      const { lines, end } = await parseLines(caller, 'listFiles', { path, ...options });
      return { files: lines, truncated: end.truncated };
    },
    async glob(pattern, options) {
      const { lines, end } = await parseLines(caller, 'glob', { pattern, ...options });
      return { paths: lines.map(({ path }) => path), truncated: end.truncated };
    },
    removeFile: (path, { recursive }) => repeatable(caller, 'removeFile', { path, recursive }, () => Promise.resolve(true)),
    async createDirectory(path, { parents }) {
      await caller.call({ operation: 'createDirectory', fields: () => ({ path, parents }) });
    },
    rename: (from, to) => repeatable(caller, 'rename', { from, to }, async () => (await fileInfo(to)) !== undefined),
  };
}

async function writeFile(caller: Caller, path: string, bytes: Uint8Array, options: { mode?: number; expected?: string; parents?: boolean }): Promise<void> {
  const { parents = true, ...rest } = options;
  let repeated = false;
  try {
    await caller.call({
      operation: 'writeFile',
      fields: () => ({ path, size: bytes.byteLength, parents, ...rest }),
      upload: bytes,
      onRepeat: () => (repeated = true),
    });
  } catch (error) {
    // The first request may have written the file, so that the expected version no longer exists.
    if (!repeated || options.expected === undefined || !isFailure(error, 'FILE_CHANGED')) throw error;
    const present = await readFile(caller, { path, maxBytes: bytes.byteLength + 1, offset: 0 });
    if (!present.bytes.equals(bytes)) throw error;
  }
}

async function watch(caller: Caller, path: string, { recursive, signal, onEvent, onRepeat }: Parameters<SupervisorConnection['watch']>[1]): Promise<void> {
  let reader = createCheckedLineReader('watch', onEvent);
  await caller.call({
    operation: 'watch',
    fields: () => ({ path, recursive }),
    onData: (chunk) => reader(chunk),
    onRepeat() {
      reader = createCheckedLineReader('watch', onEvent);
      onRepeat();
    },
    signal,
    letGo: () => failure('INTERRUPTED', { callId: `watch of ${path}` }),
  });
}

async function readFile(
  caller: Caller,
  { path, maxBytes, offset }: { path: string; maxBytes: number; offset: number },
): Promise<{ bytes: Buffer; size: number; version: string }> {
  let chunks: Buffer[] = [];
  let size = 0;
  const end = await caller.call({
    operation: 'readFile',
    fields: () => ({ path, maxBytes, offset }),
    onData(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw new ProtocolBreach('more of a file than was asked for');
      chunks.push(chunk);
    },
    onRepeat() {
      chunks = [];
      size = 0;
    },
  });
  return { bytes: Buffer.concat(chunks, size), size: end.size, version: end.version };
}

/** Each part has its offset, so that it may be sent twice. A repeated commit finds no parts when the first one was done. */
export function createPartCalls(caller: Caller): Pick<SupervisorConnection, 'writePart' | 'commitParts' | 'dropParts'> {
  return {
    async writePart(path, uploadId, bytes, options) {
      await caller.call({ operation: 'writePart', fields: () => ({ path, uploadId, size: bytes.byteLength, ...options }), upload: bytes });
    },
    commitParts: (path, uploadId, options) => repeatable(caller, 'commitParts', { path, uploadId, ...options }, () => Promise.resolve(true)),
    async dropParts(path, uploadId) {
      await caller.call({ operation: 'dropParts', fields: () => ({ path, uploadId }) });
    },
  };
}

/** When a repeated request fails with FILE_NOT_FOUND, the first one may have succeeded before the stream broke; `wasDone` checks that. */
async function repeatable<O extends 'removeFile' | 'rename' | 'commitParts'>(
  caller: Caller,
  operation: O,
  fields: RequestOf<O>,
  wasDone: () => Promise<boolean>,
): Promise<void> {
  let repeated = false;
  try {
    await caller.call({ operation, fields: () => fields, onRepeat: () => (repeated = true) });
  } catch (error) {
    if (!repeated || !isFailure(error, 'FILE_NOT_FOUND') || !(await wasDone())) throw error;
  }
}
