import { transform, type Loader } from 'esbuild';

/** What the printer of the bundler makes of a path that is put together when the code runs. */
const COMPUTED = [
  /\b(?:import|require)\((?:"\.\.?\/(?:\\.|[^"\\])*"|'\.\.?\/(?:\\.|[^'\\])*')(?![,)])/s,
  /\b(?:import|require)\(`\.\.?\/(?:\\.|[^`\\$]|\$(?!\{))*\$\{/s,
];
const MAY_COMPUTE = /(?:import|require|\\u)/;

/**
 * Whether code imports by a path of which only the beginning is known, like `import('./' + name)`. The bundler would look for all files that fit, in
 * directories above the plugin too, and bundle them without asking anyone.
 */
export async function importsByPattern(source: string, loader: Loader): Promise<boolean> {
  if (!MAY_COMPUTE.test(source)) return false;
  // Printed anew, it has no comments, escapes and constants that hide it. What cannot be parsed is told by the bundler itself, with its place.
  const printed = await transform(source, {
    loader,
    minifySyntax: true,
    minifyWhitespace: true,
    charset: 'utf8',
    target: 'esnext',
    tsconfigRaw: '{}',
    logLevel: 'silent',
  }).catch(() => ({ code: '' }));
  return COMPUTED.some((pattern) => pattern.test(printed.code));
}
