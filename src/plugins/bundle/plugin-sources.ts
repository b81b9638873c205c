import { realpath } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { OnLoadResult, OnResolveArgs, OnResolveResult, PartialMessage, Plugin as EsbuildPlugin } from 'esbuild';
import type { BundleRefusal } from './not-in-a-compartment.ts';
import { bundleRefusalOf } from './not-in-a-compartment.ts';
import { readRealFile } from '../files/read-real-file.ts';
import { importsByPattern } from './glob-imports.ts';
import { STAY_INSIDE, type ResolveImport } from './import-resolver.ts';
import type { Territory } from '../files/territory.ts';

/** Namespace for files of plugins. Files of Longshore itself are in the bundler's default namespace. */
const PLUGIN = 'plugin';
const ENTRY = 'entry';

const LOADERS: Record<string, SourceLanguage | 'json'> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
  '.jsx': 'jsx',
  '.json': 'json',
};
const MAX_BYTES = 16 * 1024 * 1024;

/** The language of a module that the bundler reads. */
type SourceLanguage = 'ts' | 'tsx' | 'js' | 'jsx';

export interface BundleSourceOptions {
  territory: Territory;
  resolveImport: ResolveImport;
  /** The entry file. */
  entry: string;
  /** Source of a module that is the entry instead. It may import files of the plugin by their absolute paths, and paths that `isOwn` accepts. */
  start: string | undefined;
  isOwn: (path: string) => boolean;
  /** Changes the source of a module of the plugin itself, or says what is wrong with it: a clause that follows its name, and what to do. */
  transform: (source: string, language: SourceLanguage) => Promise<{ source: string } | BundleRefusal>;
}

/**
 * Reads the files of a plugin for the bundler, which reads none of them itself: the checked content is the bundled content. Within the bundle, files have
 * their paths relative to the plugin.
 */
export function pluginSources({ territory, resolveImport, entry, start, isOwn, transform }: BundleSourceOptions): EsbuildPlugin {
  const files = new Map<string, string>();
  const named = ({ path, isModule = false }: { path: string; isModule?: boolean }): string => {
    const name = relative(territory.root, path);
    const ending = extname(path);
    // How a module imports CommonJS depends on its kind, which the bundler derives only from the extension.
    const told = isModule && (ending === '.js' || ending === '.ts') ? `${name}?.m${ending.slice(1)}` : name;
    files.set(told, path);
    return told;
  };
  const find = async ({ path, importer, kind }: OnResolveArgs): Promise<OnResolveResult | undefined> => {
    if (kind === 'require-resolve') return { path, external: true };
    const found = await resolveImport(path, files.get(importer) ?? territory.root, kind === 'require-call');
    // The bundler itself reports a package that is not found: within try { } that is not an error.
    if (!found) return /^[./]/.test(path) ? { errors: [{ text: `Could not resolve ${JSON.stringify(path)}` }] } : undefined;
    if ('refusal' in found) return { errors: [messageOf(found.refusal)] };
    return { path: named(found), namespace: PLUGIN, ...(found.sideEffects === false && { sideEffects: false }) };
  };
  const findEntry = async (path: string): Promise<OnResolveResult> => {
    const found = await resolveImport(path, join(territory.root, 'start'), false);
    if (found && !('refusal' in found)) return { path: named(found), namespace: PLUGIN };
    return { errors: [messageOf(found?.refusal ?? { problem: `there is no ${path}`, fix: 'Correct the path' })] };
  };
  return {
    name: 'sources',
    setup(bundler) {
      bundler.onResolve({ filter: /^start$/, namespace: '' }, () => (start === undefined ? findEntry(entry) : { path: 'start', namespace: ENTRY }));
      bundler.onLoad({ filter: /.*/, namespace: ENTRY }, () => ({ contents: start ?? '', loader: 'js' }));
      bundler.onResolve({ filter: /.*/, namespace: ENTRY }, ({ path }) => (isOwn(path) ? { path } : findEntry(path)));
      bundler.onResolve({ filter: /.*/, namespace: PLUGIN }, find);
      bundler.onLoad({ filter: /.*/, namespace: PLUGIN }, ({ path, with: attributes }) =>
        load(files.get(path) ?? '', path, attributes, { territory, transform }),
      );
    },
  };
}

type Loading = Pick<BundleSourceOptions, 'territory' | 'transform'>;

async function load(path: string, name: string, attributes: Record<string, string>, { territory, transform }: Loading): Promise<OnLoadResult> {
  const { unitOf, root } = territory;
  const loader = LOADERS[extname(path).toLowerCase()];
  const { type = 'json', ...others } = attributes;
  if (!loader) return { errors: [messageOf(bundleRefusalOf(`No loader is configured for "${extname(path)}" files: ${name}`))] };
  if (type !== 'json' || Object.keys(others).length > 0) return { errors: [messageOf(byAttribute(name, attributes))] };
  const real = await realpath(path).catch(() => path);
  const found = await readRealFile(real, (file) => unitOf(file) !== undefined, MAX_BYTES);
  if ('problem' in found) return { errors: [messageOf(unreadable(name, found))] };
  const source = found.content.toString('utf8');
  if (loader !== 'json' && (await importsByPattern(source, loader))) return { errors: [messageOf(byPattern(name))] };
  if (loader === 'json' || unitOf(path) !== root) return { contents: source, loader };
  const transformed = await transform(source, loader);
  if ('source' in transformed) return { contents: transformed.source, loader };
  return { errors: [messageOf({ ...transformed, problem: `${name} ${transformed.problem}` })] };
}

function messageOf({ problem, fix }: BundleRefusal): PartialMessage {
  return { text: problem, detail: { problem, fix } };
}

function byAttribute(name: string, attributes: Record<string, string>): BundleRefusal {
  const written = JSON.stringify(attributes);
  return { problem: `${name} cannot be imported with ${written}`, fix: 'Import TypeScript, JavaScript and JSON only' };
}

function unreadable(name: string, found: { problem: 'refused' } | { problem: 'too large'; size: number }): BundleRefusal {
  if (found.problem === 'refused') return { problem: `${name} is no file of the plugin that can be read`, fix: STAY_INSIDE };
  return { problem: `${name} has ${found.size} bytes, and files of plugins have ${MAX_BYTES} at most`, fix: 'Make it smaller, or keep it in the sandbox' };
}

function byPattern(name: string): BundleRefusal {
  return { problem: `${name} imports by a path that is only known when it runs`, fix: 'Import each file by a fixed path' };
}
