import { build, type BuildOptions } from 'esbuild';
import { withBundler } from './bundler.ts';

const OPTIONS = {
  bundle: true,
  write: false,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  // SES works in strict code only, and a tsconfig.json beside the sources must not change that.
  banner: { js: '"use strict";' },
  tsconfigRaw: '{}',
  // Names stay: to give them to each function again when it is made costs more than a call.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** Bundles a program of our own, with all that it imports, to one CommonJS text that runs from sources and from the built package alike. */
export async function bundleProgram(entry: string): Promise<string> {
  return withBundler(() => buildProgram(entry));
}

/** The same for work that runs within `withBundler` already, which would wait for itself. */
export async function buildProgram(entry: string): Promise<string> {
  const { outputFiles } = await build({ ...OPTIONS, entryPoints: [entry] });
  return outputFiles[0]?.text ?? '';
}
