import { isFailure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { FileInfo } from '../sandbox.ts';
import type { Caller } from './caller.ts';
import type { SupervisorConnection } from './supervisor-connection.ts';
import { parseLines } from './lines.ts';

type FileCalls = Pick<SupervisorConnection, 'readFile' | 'writeFile' | 'listFiles' | 'fileInfo' | 'removeFile' | 'createDirectory' | 'rename'>;

/** The operations on files; each is safe to send twice, so that a broken stream can be replaced at any moment. */
export function createFileCalls(caller: Caller, sandboxId: string): FileCalls {
  const fileInfo = async (path: string): Promise<FileInfo | undefined> => {
    const { info } = await caller.call({ operation: 'fileInfo', fields: () => ({ path }) });
    return info as unknown as FileInfo | undefined;
  };
  return {
    fileInfo,
    readFile: (path, maxBytes) => readFile(caller, path, maxBytes),
    async writeFile(path, bytes, options = {}) {
      await caller.call({ operation: 'writeFile', fields: () => ({ path, size: bytes.byteLength, ...options }), upload: bytes });
    },
    async listFiles(path, options) {
      const { lines, end } = await parseLines(caller, 'listFiles', { path, ...options }, sandboxId);
      return { files: lines as unknown as FileInfo[], truncated: end['truncated'] === true };
    },
    removeFile: (path, { recursive }) => repeatable(caller, 'removeFile', { path, recursive }, () => Promise.resolve(true)),
    async createDirectory(path) {
      await caller.call({ operation: 'createDirectory', fields: () => ({ path }) });
    },
    rename: (from, to) => repeatable(caller, 'rename', { from, to }, async () => (await fileInfo(to)) !== undefined),
  };
}

async function readFile(caller: Caller, path: string, maxBytes: number): Promise<{ bytes: Buffer; size: number }> {
  let chunks: Buffer[] = [];
  let size = 0;
  const end = await caller.call({
    operation: 'readFile',
    fields: () => ({ path, maxBytes }),
    onData(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw new RangeError('more of a file than was asked for');
      chunks.push(chunk);
    },
    onRepeat() {
      chunks = [];
      size = 0;
    },
  });
  return { bytes: Buffer.concat(chunks, size), size: Number(end['size']) };
}

/** When the stream broke and the second request finds nothing to do, the first may have done it; `wasDone` tells. */
async function repeatable(caller: Caller, operation: 'removeFile' | 'rename', fields: JsonObject, wasDone: () => Promise<boolean>): Promise<void> {
  let repeated = false;
  try {
    await caller.call({ operation, fields: () => fields, onRepeat: () => (repeated = true) });
  } catch (error) {
    if (!repeated || !isFailure(error, 'FILE_NOT_FOUND') || !(await wasDone())) throw error;
  }
}
