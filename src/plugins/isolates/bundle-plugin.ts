import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Message, type Plugin as EsbuildPlugin } from 'esbuild';
import { failure } from '../../contracts/errors.ts';
import { keepComments } from '../dialects/nekro/keep-comments.ts';
import { absentModule, refusalOf } from './not-in-a-compartment.ts';

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const own = (path: string) => fileURLToPath(new URL(`../${path}${EXTENSION}`, import.meta.url));
/** What plugins import by these names is taken from here, whatever is installed beside them. */
const OWN: [name: RegExp, path: string][] = [
  [/^longshore(\/plugins)?$/, own('define-plugin')],
  [/^longshore\/maibot$/, own('dialects/maibot/maibot')],
  [/^longshore\/nekro$/, own('dialects/nekro/nekro-plugin')],
  [/^@pandorakit\/sdk(\/tools)?$/, own('dialects/pandora/sdk/tools')],
];
const GLOBAL = 'longshorePlugin';
/** What a compartment refuses to evaluate, wherever it stands: in strings and comments too. */
const REFUSED = /\bimport\s*(?:\(|\/[/*])|<!--|-->|(?<![.\w$])eval\s*\(/;

/**
 * Bundles a plugin, written in TypeScript or JavaScript, with all that it imports into one script whose value is an object with its exports.
 * @param name as the agent names it, for messages.
 * @param wrapper a module to begin with instead of the entry; it is resolved as if it stood beside it.
 * @throws PLUGIN_INVALID naming the file, the import and what to use instead.
 */
export async function bundlePlugin(name: string, entry: string, wrapper?: string): Promise<string> {
  const built = await build({
    ...(wrapper === undefined ? { entryPoints: [entry] } : { stdin: { contents: wrapper, resolveDir: dirname(entry), sourcefile: 'wrapper.js' } }),
    absWorkingDir: dirname(entry),
    bundle: true,
    write: false,
    format: 'iife',
    globalName: GLOBAL,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import', 'default'],
    target: 'es2022',
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [resolveOwn, leaveOutTranslations, keepMethodComments, refuseBuiltins],
  }).catch((error: { errors?: Message[] } & Error) => {
    const { problem, fix } = refusalOf(error.errors?.[0]?.text ?? error.message);
    throw invalid(name, `${placeOf(entry, error.errors?.[0])}: ${problem}`, fix, error);
  });
  const bundled = `${built.outputFiles[0]?.text ?? ''}\n${GLOBAL};`;
  if (!REFUSED.test(bundled)) return bundled;
  // Comments are gone by now; what is left stands in strings, where it can be split, or is code that a compartment cannot run.
  // It brings a whole parser, which most workers never need.
  const { evadeCensorSync } = await import('@endo/evasive-transform');
  const { code } = evadeCensorSync(bundled, { sourceType: 'script' });
  const [found] = REFUSED.exec(code) ?? [];
  if (found === undefined) return code;
  throw invalid(
    name,
    `${entry} or what it imports uses ${found.trim()}…, which a compartment does not have`,
    'Import what it needs by a fixed name; do without eval',
  );
}

/** With another copy of zod the builders would not know its types. */
const resolveOwn: EsbuildPlugin = {
  name: 'own',
  setup(bundler) {
    for (const [filter, path] of OWN) bundler.onResolve({ filter }, () => ({ path }));
    bundler.onResolve({ filter: /^zod(\/v4)?$/ }, ({ path }) => ({ path: fileURLToPath(import.meta.resolve(path)), sideEffects: false }));
  },
};

/** The doc comments of sandbox methods are what a model reads of them, and a bundle has none. */
const keepMethodComments: EsbuildPlugin = {
  name: 'comments',
  setup(bundler) {
    bundler.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path }) => {
      if (path.includes('node_modules')) return undefined;
      const source = await readFile(path, 'utf8');
      return source.includes('.mountSandboxMethod(') ? { contents: keepComments(source), loader: path.endsWith('ts') ? 'ts' : 'js' } : undefined;
    });
  },
};

/** The translations of zod's messages are half of what a conversation's compartment would evaluate, and nobody reads them. */
const leaveOutTranslations: EsbuildPlugin = {
  name: 'translations',
  setup(bundler) {
    bundler.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
      contents: `export { default as en } from './en.js';`,
      resolveDir: dirname(path),
    }));
  },
};

const refuseBuiltins: EsbuildPlugin = {
  name: 'builtins',
  setup(bundler) {
    bundler.onResolve({ filter: /^(node:)?[a-z_]+(\/[a-z_]+)*$/ }, ({ path }) => {
      if (!isBuiltin(path)) return undefined;
      return { errors: [{ text: absentModule(path) }] };
    });
  },
};

function placeOf(entry: string, message: Message | undefined): string {
  return message?.location ? `${message.location.file}:${message.location.line}` : entry;
}

function invalid(name: string, problem: string, fix: string, cause?: unknown): Error {
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix }, cause);
}
