import { transform, type Loader } from 'esbuild';

/** How the bundler prints an import whose path is computed at run time. */
const COMPUTED = [
  /\b(?:import|require)\((?:"\.\.?\/(?:\\.|[^"\\])*"|'\.\.?\/(?:\\.|[^'\\])*')(?![,)])/s,
  /\b(?:import|require)\(`\.\.?\/(?:\\.|[^`\\$]|\$(?!\{))*\$\{/s,
];
const MAY_COMPUTE = /(?:import|require|\\u)/;

/**
 * Whether code has an import of whose path only the beginning is known, like `import('./' + name)`. The bundler would find all files that match, also in
 * directories above the plugin, and bundle them without a check by the resolver.
 */
export async function importsByPattern(source: string, loader: Loader): Promise<boolean> {
  if (!MAY_COMPUTE.test(source)) return false;
  // Printed code has no comments, escapes and constants that hide such an import. The bundler itself reports code that cannot be parsed, with its position.
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
