import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Longshore } from '../../../src/client.ts';
import { runLine } from '../support.ts';

test('an export that is interrupted leaves nothing of the file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-cli-export-'));
  try {
    const interrupt = new AbortController();
    // It never ends.
    const archive = new Readable({ read: () => undefined });
    const longshore = { export: async () => archive } as unknown as Longshore;
    const running = runLine(longshore, ['export', 'conv_1', '--out', join(directory, 'all.tar.gz')], { interrupt: interrupt.signal });
    archive.push('a part');
    while ((await readdir(directory)).length === 0);
    interrupt.abort();
    expect(await running).toEqual({ code: 130, out: '', err: 'Interrupted; nothing was written.\n' });
    expect(await readdir(directory)).toEqual([]);
    expect(archive.destroyed).toBe(true);
  } finally {
    await rm(directory, { recursive: true });
  }
});
