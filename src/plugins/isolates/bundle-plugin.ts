import { realpath } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Message, type Plugin as EsbuildPlugin } from 'esbuild';
import { DIALECTS } from '../dialects/dialects.ts';
import type { SdkModule, SourceLanguage, Transformed } from '../dialects/shared/plugin-dialect.ts';
import { hasEndedBundler, withBundler } from '../bundle/bundler.ts';
import { evadeCensor } from '../bundle/evade-censor.ts';
import { createImportResolver, STAY_INSIDE } from '../bundle/import-resolver.ts';
import { pluginSources } from '../bundle/plugin-sources.ts';
import { isBelow, territoryOf, type Territory } from '../files/territory.ts';
import { readRealFile } from '../files/read-real-file.ts';
import { absentModule, bundleRefusalOf, type BundleRefusal } from '../bundle/not-in-a-compartment.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const own = (path: string) => fileURLToPath(new URL(`../${path}${EXTENSION}`, import.meta.url));
/** Where the code of Longshore itself is. */
const OWN_CODE = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const MAX_TSCONFIG = 1024 * 1024;
/** A file of a plugin, as the bundler names it. */
const NAMED = /\bplugin:([^":]*?)(?:\?\.m[jt]s)?(?=[":]|$)/g;
const GLOBAL = 'longshorePlugin';
/** Names that may be modules of Node. */
const BUILTIN = /^(node:)?[a-z_]+(\/[a-z_]+)*$/;
/** A plugin's code with everything that it imports, in the forms in which it runs. */
export interface PluginBundle {
  /** A script whose value is an object with the plugin's exports; for a compartment. */
  code: string;
  /** Set when a compartment can only inspect the code and not run it: it imports modules of Node, which only tools in the sandbox may use. */
  needsSandbox?: Error;
  /** A CommonJS module for a Node in the sandbox; see guest/run-tool.ts. */
  forSandbox: () => Promise<string>;
}

/** Where a plugin is, and the module with which its bundle begins. */
export interface BundleSource {
  entry: string;
  /** The plugin's directory. Default: that of the entry. */
  root?: string;
  /** A module to begin with instead of the entry; it imports files of the plugin by absolute paths. */
  wrapper?: string;
}

/** What is known about a plugin before its code is read. */
interface Place {
  name: string;
  entry: string;
  /** Error messages name files relative to this directory. */
  directory: string;
  territory: Territory;
  tsconfig: string | undefined;
}

/**
 * Bundles a plugin in TypeScript or JavaScript with everything that it imports: files of its directory, and packages.
 * @param name the name that the agent uses, for messages.
 * @throws PLUGIN_INVALID naming the file, the import and what to use instead.
 */
export async function bundlePlugin(name: string, { entry, root = dirname(entry), wrapper }: BundleSource): Promise<PluginBundle> {
  const territory = await territoryOf(root);
  const inside = join(territory.root, relative(root, entry));
  const place: Place = { name, entry: inside, directory: dirname(inside), territory, tsconfig: await readTsconfig(territory) };
  const forSandbox = () => bundleForSandbox(place);
  try {
    return { code: await bundleForCompartment(place, wrapper, refuseBuiltins), forSandbox };
  } catch (error) {
    if (hasEndedBundler(error)) throw error;
    const code = await bundleForCompartment(place, wrapper, replaceBuiltins).catch(() => undefined);
    if (code === undefined) throw error;
    return { code, needsSandbox: error as Error, forSandbox };
  }
}

async function bundleForCompartment(place: Place, start: string | undefined, builtins: EsbuildPlugin): Promise<string> {
  const bundled = await bundle(place, start, {
    options: { format: 'iife', globalName: GLOBAL, footer: { js: `${GLOBAL};` }, platform: 'neutral' },
    conditions: CONDITIONS,
    plugins: [resolveOwn, leaveOutTranslations, builtins],
  });
  const evaded = await withBundler(() => evadeCensor(bundled));
  if ('code' in evaded) return evaded.code;
  throw pluginInvalid(
    place.name,
    `${place.entry} or what it imports uses ${evaded.refused}…, which a compartment does not have`,
    'Import what it needs by a fixed name; do without eval',
  );
}

function bundleForSandbox(place: Place): Promise<string> {
  const start = `import * as plugin from ${JSON.stringify(place.entry)}; import { runTool } from ${JSON.stringify(own('isolates/guest/run-tool'))};
    export const run = (call, line, signal) => runTool(plugin, call, line, signal);`;
  return bundle(place, start, {
    options: {
      format: 'cjs',
      platform: 'node',
      target: 'node18',
      // A script has no import(). What is imported by a fixed name is in the bundle or is a module of Node.
      supported: { 'dynamic-import': false },
      define: { ...PRODUCTION, harden: 'Object.freeze' },
    },
    conditions: ['node', ...CONDITIONS],
    plugins: [resolveOwn, leaveOutTranslations, keepBuiltins],
  });
}

const PRODUCTION = { 'process.env.NODE_ENV': '"production"' };
const CONDITIONS = ['import', 'default'];

interface Bundling {
  options: BuildOptions;
  conditions: string[];
  /** Run before those that read the files of the plugin. */
  plugins: EsbuildPlugin[];
}

async function bundle(
  { name, entry, directory, territory, tsconfig }: Place,
  start: string | undefined,
  { options, conditions, plugins }: Bundling,
): Promise<string> {
  const resolveImport = createImportResolver(territory, conditions, tsconfig !== undefined);
  const sources = pluginSources({ territory, resolveImport, entry, start, isOwn: (path) => isBelow(path, OWN_CODE), transform });
  const building: BuildOptions = {
    entryPoints: ['start'],
    absWorkingDir: OWN_CODE,
    bundle: true,
    write: false,
    metafile: true,
    mainFields: ['module', 'main'],
    conditions,
    target: 'es2022',
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'silent',
    define: PRODUCTION,
    // Without this the bundler looks for one in all directories above.
    tsconfigRaw: tsconfig ?? '{}',
    ...options,
    plugins: [...plugins, sources],
  };
  const built = await withBundler(() => build(building)).catch((error: { errors?: Message[] } & Error) => {
    // Tools in the sandbox may need a module of Node, but a file outside of the plugin is always an error. So errors with a detail are reported first.
    const message = error.errors?.find(({ detail }) => detail !== undefined) ?? error.errors?.[0];
    const { problem, fix } = (message?.detail as BundleRefusal | undefined) ?? explain((message?.text ?? error.message).replaceAll(NAMED, '$1'));
    throw pluginInvalid(name, `${placeOf(entry, directory, territory, message)}: ${problem}`, fix, error);
  });
  const stray = Object.keys(built.metafile?.inputs ?? {}).find((input) => !/^(?:plugin|entry|builtin):/.test(input) && !isOurs(resolve(OWN_CODE, input)));
  if (stray !== undefined) throw pluginInvalid(name, `${entry} brings in ${resolve(OWN_CODE, stray)}, which lies outside of the plugin`, STAY_INSIDE);
  return built.outputFiles?.[0]?.text ?? '';
}

/** Whether a file is part of Longshore, or of the zod that comes with it. */
function isOurs(path: string): boolean {
  return isBelow(path, OWN_CODE) || isBelow(path, dirname(fileURLToPath(import.meta.resolve('zod/package.json'))));
}

/** Reads the tsconfig.json of the plugin itself. Those of directories above do not belong to it. */
async function readTsconfig({ root, unitOf }: Territory): Promise<string | undefined> {
  const real = await realpath(join(root, 'tsconfig.json')).catch(() => undefined);
  const found = real === undefined ? undefined : await readRealFile(real, (path) => unitOf(path) === root, MAX_TSCONFIG);
  return found && 'content' in found ? found.content.toString('utf8') : undefined;
}

function explain(text: string): BundleRefusal {
  const [, name] = /^Could not resolve "(longshore[^"]*)"/.exec(text) ?? [];
  if (name === undefined) return bundleRefusalOf(text);
  const shown = sdkModules().flatMap(({ imports: [first] }) => (first.startsWith('longshore/') ? [first] : []));
  return { problem: `"${name}" is not for plugins`, fix: `Import ${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}` };
}

async function transform(source: string, language: SourceLanguage): Promise<Transformed> {
  let text = source;
  for (const dialect of DIALECTS) {
    const transformed = (await dialect.transform?.(text, language)) ?? { source: text };
    if ('problem' in transformed) return transformed;
    text = transformed.source;
  }
  return { source: text };
}

function sdkModules(): SdkModule[] {
  return DIALECTS.flatMap(({ sdk }) => sdk ?? []);
}

/**
 * Imports of these names always use Longshore's own files, whatever is installed beside the plugin. With another copy of zod, the builders would not recognize
 * its types.
 */
const resolveOwn: EsbuildPlugin = {
  name: 'own',
  setup(bundler) {
    bundler.onResolve({ filter: /^[@a-z]/ }, ({ path }) => {
      const sdk = sdkModules().find(({ imports }) => imports.includes(path));
      return sdk && { path: fileURLToPath(sdk.file).replace(/\.ts$/, EXTENSION) };
    });
    bundler.onResolve({ filter: /^zod(\/v4)?$/ }, ({ path }) => ({ path: fileURLToPath(import.meta.resolve(path)), sideEffects: false }));
  },
};

/** The translations of zod's messages are half of the code that each compartment would evaluate, and are never shown. */
const leaveOutTranslations: EsbuildPlugin = {
  name: 'translations',
  setup(bundler) {
    bundler.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
      contents: `export { default as en } from './en.js';`,
      resolveDir: dirname(path),
    }));
  },
};

/** The sandbox has all of Node. */
const keepBuiltins: EsbuildPlugin = {
  name: 'builtins',
  setup(bundler) {
    bundler.onResolve({ filter: BUILTIN }, ({ path }) => (isBuiltin(path) ? { path, external: true } : undefined));
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

/** Allows inspection of a plugin whose tools run in the sandbox, which has all of Node. */
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

/** The file and line of a message, relative to the directory of the plugin's entry. */
function placeOf(entry: string, directory: string, { root }: Territory, message: Message | undefined): string {
  const { file = '', line = 0 } = message?.location ?? {};
  return file.startsWith('plugin:') ? `${relative(directory, join(root, file.replace(NAMED, '$1')))}:${line}` : entry;
}
