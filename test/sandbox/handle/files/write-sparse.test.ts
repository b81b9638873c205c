import { mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeSparse } from '../../../../src/sandbox/handle/files/write-sparse.ts';

test('a sparse file stays sparse, and every byte is where it was', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-sparse-'));
  try {
    const path = join(directory, 'file');
    const zeros = Buffer.alloc(65_536);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('begin');
      for (let count = 0; count < 1600; count += 1) yield zeros;
      yield Buffer.concat([zeros.subarray(0, 5000), Buffer.from('middle'), zeros.subarray(0, 20_000)]);
      yield zeros.subarray(0, 8192);
    }
    const file = await open(path, 'wx');
    const size = await writeSparse(file, pieces());
    await file.close();
    const expected: Buffer[] = [];
    for await (const piece of pieces()) expected.push(Buffer.from(piece));
    expect(Buffer.concat(expected).equals(await readFile(path))).toBe(true);
    const facts = await stat(path);
    expect(facts.size).toBe(size);
    expect(facts.blocks * 512).toBeLessThan(200_000);
  } finally {
    await rm(directory, { recursive: true });
  }
});
