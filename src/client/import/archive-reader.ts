import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { timeIn } from '../../common/tar/tar-times.ts';
import { isFailure, failure, type LongshoreError } from '../../contracts/errors.ts';
import type { ArchiveSource } from '../../contracts/imports/import.ts';
import { visibleLine } from '../../contracts/visible-text.ts';

type Entry = AsyncIterable<Buffer> & { header: Header };

export interface ArchiveEntry {
  /** Without a leading `./`. */
  name: string;
  isDirectory: boolean;
  /** Links, devices and others. */
  isOther: boolean;
  size: number;
  mode: number;
  mtime: Date | undefined;
  content: AsyncIterable<Buffer>;
}

/** The entries of an archive in their order. Each has to be read before the next one is asked for; the rest of its content is skipped then. */
export interface ArchiveReader extends AsyncDisposable {
  next(): Promise<ArchiveEntry | undefined>;
  /** Gives an entry, which was not read, once more. */
  putBack(entry: ArchiveEntry): void;
}

/** Reads a `.tar.gz`, of which nothing is checked before, at the pace of its reader. @throws IMPORT_INVALID when it is no `.tar.gz`, or is not complete */
export function readArchive(source: ArchiveSource, signal: AbortSignal): ArchiveReader {
  const input = Readable.from(source, { objectMode: false });
  const gunzip = createGunzip();
  const tar = extract();
  // The reader of the entries gets the error, too.
  const read = pipeline(input, gunzip, tar as unknown as NodeJS.WritableStream, { signal }).catch((error: unknown) => error);
  const entries = tar[Symbol.asyncIterator]();
  let back: ArchiveEntry | undefined;
  return {
    async next() {
      const given = back;
      back = undefined;
      if (given) return given;
      const { value, done } = await entries.next().catch(async (error: unknown) => {
        throw damaged((await read) ?? error);
      });
      return done ? undefined : entryOf(value as Entry);
    },
    putBack: (entry) => void (back = entry),
    async [Symbol.asyncDispose]() {
      input.destroy();
      tar.destroy();
      await read;
    },
  };
}

function entryOf(entry: Entry): ArchiveEntry {
  const { name, type, size, mode } = entry.header;
  const isDirectory = type === 'directory';
  return {
    name: name.replace(/^(\.\/)+/, ''),
    isDirectory,
    isOther: !isDirectory && type !== 'file',
    size,
    mode: mode ?? 0,
    mtime: timeIn(entry.header),
    content: contentOf(entry),
  };
}

async function* contentOf(entry: Entry): AsyncGenerator<Buffer> {
  try {
    for await (const piece of entry) yield piece;
  } catch (error) {
    throw damaged(error);
  }
}

/** What to do about an archive that is not as an export writes it. */
export const AS_WRITTEN = 'Give a file as an export has written it';

export function invalid(problem: string, fix: string): LongshoreError {
  return failure('IMPORT_INVALID', { problem: visibleLine(problem), fix: visibleLine(fix) });
}

/** What the source of the bytes throws is passed on. */
function damaged(error: unknown): unknown {
  if (isFailure(error)) return error;
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  const isOfFormat = code.startsWith('Z_') || /unexpected end|tar header|header exceeds|invalid header/i.test(message);
  return isOfFormat ? invalid(`it is no .tar.gz, or it is cut or damaged (${message})`, 'Give a whole file that an export has written') : error;
}
