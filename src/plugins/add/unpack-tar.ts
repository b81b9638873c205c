import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { isFailure } from '../../contracts/errors.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';
import { noOrdinaryFile, type BoundedTree } from './bounded-tree.ts';

export interface TarOptions {
  gzip: boolean;
  /** How many directories at the beginning of each name are left out. */
  strip: 0 | 1;
  signal: AbortSignal;
}

/** Of the whole archive: its own headers may be large, too, and are held in memory. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Writes the files of a tar, of which nothing is trusted, into a tree. @throws PLUGIN_INVALID */
export async function unpackTar(path: string, tree: BoundedTree, { gzip, strip, signal }: TarOptions): Promise<void> {
  const tar = extract();
  const input = createReadStream(path);
  const sink = tar as unknown as NodeJS.WritableStream;
  const bounded = async function* (pieces: AsyncIterable<Buffer>) {
    let bytes = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > MOST_BYTES) throw tree.tooMuch();
      yield piece;
    }
  };
  const read = (gzip ? pipeline(input, createGunzip(), bounded, sink, { signal }) : pipeline(input, bounded, sink, { signal })).then(
    () => undefined,
    (error: unknown) => error,
  );
  try {
    for await (const entry of tar) {
      const { name, type } = entry.header;
      const kept = strip === 0 ? name : name.replace(/^(?:\.\/)*[^/]*\/?/, '');
      if (type === 'directory') await tree.directory(kept);
      else if (type === 'file' || type === 'contiguous-file') await tree.file(kept, entry as AsyncIterable<Buffer>);
      else throw noOrdinaryFile(tree.plugin, kept);
      entry.resume();
    }
  } catch (error) {
    input.destroy();
    tar.destroy();
    const cause = isFailure(error) ? error : ((await read) ?? error);
    signal.throwIfAborted();
    throw isFailure(cause) ? cause : pluginInvalid(tree.plugin, `its archive is damaged (${(cause as Error).message})`, 'Get it again', cause);
  }
  await read;
}
