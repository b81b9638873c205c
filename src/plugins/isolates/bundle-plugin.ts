import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Message, type Plugin as EsbuildPlugin } from 'esbuild';
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
/** What may be a module of Node. */
const BUILTIN = /^(node:)?[a-z_]+(\/[a-z_]+)*$/;
/** What a compartment refuses to evaluate, wherever it stands: in strings and comments too. */
const REFUSED = /\bimport\s*(?:\(|\/[/*])|<!--|-->|(?<![.\w$])eval\s*\(/;

/** A plugin's code with all that it imports, in the forms in which it runs. */
export interface PluginBundle {
  /** A script whose value is an object with the plugin's exports; for a compartment. */
  code: string;
  /** Why a compartment can do no more with it than look at it: it imports modules of Node, which only tools that run in the sandbox may use. */
  needsSandbox?: Error;
  /** A CommonJS module for a Node in the sandbox; see guest/run-tool.ts. */
  forSandbox: () => Promise<string>;
}

/**
 * Bundles a plugin, written in TypeScript or JavaScript, with all that it imports.
 * @param name as the agent names it, for messages.
 * @param wrapper a module to begin with instead of the entry; it is resolved as if it stood beside it.
 * @throws PLUGIN_INVALID naming the file, the import and what to use instead.
 */
export async function bundlePlugin(name: string, entry: string, wrapper?: string): Promise<PluginBundle> {
  const forSandbox = () => bundleForSandbox(name, entry);
  try {
    return { code: await bundleForCompartment(name, entry, wrapper, refuseBuiltins), forSandbox };
  } catch (error) {
    const code = await bundleForCompartment(name, entry, wrapper, replaceBuiltins).catch(() => undefined);
    if (code === undefined) throw error;
    return { code, needsSandbox: error as Error, forSandbox };
  }
}

async function bundleForCompartment(name: string, entry: string, wrapper: string | undefined, builtins: EsbuildPlugin): Promise<string> {
  const bundled = await bundle(name, entry, {
    ...(wrapper === undefined ? { entryPoints: [entry] } : { stdin: { contents: wrapper, resolveDir: dirname(entry), sourcefile: 'wrapper.js' } }),
    format: 'iife',
    globalName: GLOBAL,
    footer: { js: `${GLOBAL};` },
    platform: 'neutral',
    plugins: [resolveOwn, leaveOutTranslations, keepMethodComments, builtins],
  });
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

function bundleForSandbox(name: string, entry: string): Promise<string> {
  const contents = `import * as plugin from ${JSON.stringify(entry)}; import { runTool } from ${JSON.stringify(own('isolates/guest/run-tool'))};
    export const run = (call, line, signal) => runTool(plugin, call, line, signal);`;
  return bundle(name, entry, {
    stdin: { contents, resolveDir: dirname(entry), sourcefile: 'start.js' },
    format: 'cjs',
    platform: 'node',
    target: 'node18',
    conditions: ['node', 'import', 'default'],
    // A script has no import(); what is named by a fixed name is in the bundle or a module of Node.
    supported: { 'dynamic-import': false },
    define: { ...PRODUCTION, harden: 'Object.freeze' },
    plugins: [resolveOwn, leaveOutTranslations, keepMethodComments],
  });
}

const PRODUCTION = { 'process.env.NODE_ENV': '"production"' };

async function bundle(name: string, entry: string, options: BuildOptions): Promise<string> {
  const built = await build({
    absWorkingDir: dirname(entry),
    bundle: true,
    write: false,
    mainFields: ['module', 'main'],
    conditions: ['import', 'default'],
    target: 'es2022',
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'silent',
    define: PRODUCTION,
    ...options,
  }).catch((error: { errors?: Message[] } & Error) => {
    const { problem, fix } = refusalOf(error.errors?.[0]?.text ?? error.message);
    throw invalid(name, `${placeOf(entry, error.errors?.[0])}: ${problem}`, fix, error);
  });
  return built.outputFiles?.[0]?.text ?? '';
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
    bundler.onResolve({ filter: BUILTIN }, ({ path }) => {
      if (!isBuiltin(path)) return undefined;
      return { errors: [{ text: absentModule(path) }] };
    });
  },
};

/** Lets a plugin be looked at whose tools run in the sandbox, where there is a whole Node. */
const replaceBuiltins: EsbuildPlugin = {
  name: 'builtins',
  setup(bundler) {
    bundler.onResolve({ filter: BUILTIN }, ({ path }) => (isBuiltin(path) ? { path, namespace: 'builtin' } : undefined));
    bundler.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(own('isolates/guest/stand-in'))}).standIn(${JSON.stringify(path)});`,
      resolveDir: dirname(fileURLToPath(import.meta.url)),
    }));
  },
};

function placeOf(entry: string, message: Message | undefined): string {
  return message?.location ? `${message.location.file}:${message.location.line}` : entry;
}

function invalid(name: string, problem: string, fix: string, cause?: unknown): Error {
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix }, cause);
}
