import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';

test('two compartments of one process share nothing that one of them could change', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-shared-'));
  const outfile = join(directory, 'walk.mjs');
  // Bundled as the program of plugins' processes is.
  await build({
    entryPoints: [join(import.meta.dirname, 'shared-objects.ts')],
    bundle: true,
    outfile,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfigRaw: '{}',
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'silent',
  });
  const { stdout } = await promisify(execFile)(process.execPath, [outfile], { timeout: 60_000 });
  await rm(directory, { recursive: true });
  const { reached, both, mutable } = JSON.parse(stdout) as { reached: number[]; both: number; mutable: string[] };
  expect(mutable).toEqual([]);
  // The language's own objects are shared, and far more are not: it really walked.
  expect(both).toBeGreaterThan(700);
  expect(Math.min(...reached)).toBeGreaterThan(both + 1_000);
});
