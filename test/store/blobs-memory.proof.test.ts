import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createBlobStore } from '../../src/store/blobs/create-blob-store.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import { openTestStore, silent } from './support.ts';

const MEGABYTE = 1024 * 1024;
const SIZE = 200;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test.each(['Postgres', 'a directory'])(`memory stays flat while a blob of ${SIZE} MB comes to and goes from %s`, async (place) => {
  await using stack = await openTestStore();
  const database = openDatabase({ url: stack.url, log: silent, poolSize: 2 });
  const directory = await mkdtemp(join(tmpdir(), 'longshore-blobs-'));
  const blobs = createBlobStore({ address: place === 'Postgres' ? undefined : pathToFileURL(directory).href, installation: 'ours', database });
  // What only waits to be collected does not count, and how long that is differs from one Node.js to the next.
  const held = (): number => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const atStart = held();
  let most = 0;
  const watch = () => (most = Math.max(most, held() - atStart));
  async function* long() {
    for (let count = 0; count < SIZE; count += 1) {
      if (count % 40 === 39) watch();
      yield randomBytes(MEGABYTE);
    }
  }
  const { blobId, bytes } = await blobs.put(Readable.from(long()));
  let got = 0;
  for await (const chunk of blobs.get(blobId) as AsyncIterable<Buffer>) {
    if (Math.floor((got + chunk.length) / (40 * MEGABYTE)) > Math.floor(got / (40 * MEGABYTE))) watch();
    got += chunk.length;
  }
  await blobs.remove(blobId);
  await database.close();
  await rm(directory, { recursive: true });
  expect(got).toBe(bytes);
  expect(most).toBeLessThan(bytes / 2);
});
