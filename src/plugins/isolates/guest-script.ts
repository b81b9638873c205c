import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export interface GuestScript extends AsyncDisposable {
  path: string;
  /** An empty directory to run it in. */
  directory: string;
}

const SOURCE = fileURLToPath(new URL(`./guest/guest${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** Bundles the program of plugins' processes to one file: a process that reads one small file starts in half the time, and may be forbidden all others. */
export async function writeGuestScript(): Promise<GuestScript> {
  const { outputFiles } = await build({
    entryPoints: [SOURCE],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // SES works in strict code only; whether a tsconfig.json with that lies around is not to matter.
    banner: { js: '"use strict";' },
    tsconfigRaw: '{}',
    // Names stay without being given to each function anew when it is made, which costs more than a call.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'silent',
  });
  const root = await mkdtemp(join(tmpdir(), 'longshore-isolates-'));
  const [path, directory] = [join(root, 'guest.cjs'), join(root, 'empty')];
  await writeFile(path, outputFiles[0]?.contents ?? '', { mode: 0o444 });
  await mkdir(directory);
  // Read by processes of other users.
  await Promise.all([chmod(root, 0o755), chmod(directory, 0o555)]);
  return { path, directory, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}
