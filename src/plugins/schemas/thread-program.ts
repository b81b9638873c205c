import { fileURLToPath } from 'node:url';
import { build, type BuildOptions } from 'esbuild';
import { withBundler } from '../bundle/bundler.ts';

const SOURCE = fileURLToPath(new URL(`./validator-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));

/** Bundles the program of validator threads to one text, which a thread starts from sources and from the built package alike. */
export async function makeThreadProgram(): Promise<string> {
  const options = {
    entryPoints: [SOURCE],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    banner: { js: '"use strict";' },
    tsconfigRaw: '{}',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'silent',
  } as const satisfies BuildOptions;
  const { outputFiles } = await withBundler(() => build(options));
  return outputFiles[0]?.text ?? '';
}
