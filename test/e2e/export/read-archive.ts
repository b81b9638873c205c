import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';

/** Contents by name in the order of the archive; of long ones the digest. */
export async function readArchive(archive: Readable | Buffer): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const tar = extract();
  const gunzip = createGunzip();
  gunzip.pipe(tar);
  if (Buffer.isBuffer(archive)) gunzip.end(archive);
  else archive.on('error', (error) => tar.destroy(error)).pipe(gunzip);
  gunzip.on('error', (error) => tar.destroy(error));
  for await (const entry of tar) {
    const pieces: Buffer[] = [];
    for await (const piece of entry as AsyncIterable<Buffer>) pieces.push(piece);
    const content = Buffer.concat(pieces);
    const text = content.length > 1_000_000 ? createHash('sha256').update(content).digest('hex') : content.toString();
    found.set(`${entry.header.name.replace(/\/$/, '')}${entry.header.type === 'directory' ? ' (directory)' : ''}`, text);
  }
  return found;
}
