import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import enhancedResolve, { type ResolveRequest } from 'enhanced-resolve';
import type { BundleRefusal } from './not-in-a-compartment.ts';
import { boundedFiles } from './bounded-files.ts';
import { isBelow, type Territory } from '../files/territory.ts';

/** The file that an import resolves to. */
export interface Resolved {
  /** Its real path. */
  path: string;
  sideEffects?: false;
  /** Its package.json says that its .js files are modules. */
  isModule: boolean;
}

export type ResolveImport = (specifier: string, importer: string, isRequire: boolean) => Promise<Resolved | { refusal: BundleRefusal } | undefined>;

const EXTENSIONS = ['.tsx', '.ts', '.jsx', '.js', '.mjs', '.cjs', '.json'];
const URL_LIKE = /^[a-z][a-z0-9+.-]+:/i;

export const STAY_INSIDE =
  'A plugin consists of the files below its own directory and of installed packages; put a copy of the file there, or install what it needs as a package and import it by its name';

/**
 * Resolves imports of a plugin as Node and TypeScript do, but only to files that the plugin may consist of.
 * @param conditions conditions for package.json's `exports`; `require` is added for calls of `require`.
 */
export function createImportResolver(territory: Territory, conditions: string[], hasTsconfig: boolean): ResolveImport {
  const [forImport, forRequire] = [[], ['require']].map((more) => {
    const all = [...conditions, ...more];
    const plain = resolverOf(territory, all, false);
    if (!hasTsconfig) return plain;
    const aliased = resolverOf(territory, all, true);
    // With a tsconfig.json that extends one outside of the plugin, `aliased` finds nothing.
    return async (from: string, specifier: string) => (await aliased(from, specifier)) ?? plain(from, specifier);
  });
  return async (specifier, importer, isRequire) => {
    const refusal = refuseByName(specifier, importer, territory);
    if (refusal) return { refusal };
    const found = await (isRequire ? forRequire : forImport)?.(dirname(importer), specifier);
    if (!found) {
      const link = await linkOut(specifier, importer, territory);
      return link === undefined ? undefined : { refusal: leadsOut(specifier, link) };
    }
    const path = await realpath(found.path);
    if (territory.unitOf(path) === undefined) return { refusal: leadsOut(specifier, path) };
    return { path, isModule: found.isModule, ...(found.sideEffects === false && { sideEffects: false }) };
  };
}

interface FoundFile {
  path: string;
  sideEffects?: unknown;
  isModule: boolean;
}

function resolverOf(territory: Territory, conditionNames: string[], hasTsconfig: boolean): (from: string, specifier: string) => Promise<FoundFile | undefined> {
  const resolver = enhancedResolve.ResolverFactory.createResolver({
    fileSystem: boundedFiles(territory),
    conditionNames,
    extensions: EXTENSIONS,
    extensionAlias: { '.js': ['.js', '.ts', '.tsx'], '.jsx': ['.jsx', '.tsx'], '.mjs': ['.mjs', '.mts'], '.cjs': ['.cjs', '.cts'] },
    mainFields: ['module', 'main'],
    // The real path of the result is checked afterwards.
    symlinks: false,
    pnpApi: null,
    ...(hasTsconfig && { tsconfig: { configFile: join(territory.root, 'tsconfig.json') } }),
  });
  return async (from, specifier) => {
    // An error that is thrown in the resolver's callback would be lost.
    const request = await new Promise<ResolveRequest | undefined>((done) => {
      resolver.resolve({}, from, specifier, {}, (error, _path, found?: ResolveRequest) => done(error ? undefined : found));
    });
    return request?.path ? fileOf(request, request.path) : undefined;
  };
}

/** A package without a package.json does not use that of the package around it. */
function fileOf({ descriptionFileRoot: root, descriptionFileData }: ResolveRequest, path: string): FoundFile {
  const { sideEffects, type } = (descriptionFileData ?? {}) as { sideEffects?: unknown; type?: unknown };
  const isItsOwn = typeof root === 'string' && isBelow(path, root) && !relative(root, path).split(sep).includes('node_modules');
  return { path, ...(isItsOwn && { sideEffects }), isModule: isItsOwn && type === 'module' };
}

/** The refusals that need no access to files. */
function refuseByName(specifier: string, importer: string, { unitOf, root }: Territory): BundleRefusal | undefined {
  if (specifier.includes('\0')) return { problem: `${JSON.stringify(specifier)} is no path`, fix: 'Correct the path' };
  if (URL_LIKE.test(specifier)) return { problem: `${JSON.stringify(specifier.slice(0, 80))} is a URL`, fix: 'Plugins import files and packages only' };
  if (!isPath(specifier)) return undefined;
  const target = resolve(dirname(importer), specifier);
  const unit = unitOf(importer);
  // Packages within the plugin's own directory may be imported by a path too.
  if (target === unit || (unit !== undefined && unitOf(target) === unit) || target === root || (unit === root && target.startsWith(root + sep)))
    return undefined;
  return leadsOut(specifier, unit === root || unit === undefined ? undefined : `the package ${unit}`);
}

function isPath(specifier: string): boolean {
  return isAbsolute(specifier) || /^\.\.?(\/|\\|$)/.test(specifier);
}

/** The target of a link to a place outside of the plugin: of a path, or of a package that npm or pnpm has linked, as for workspaces. */
async function linkOut(specifier: string, importer: string, { unitOf, isNear }: Territory): Promise<string | undefined> {
  if (specifier.startsWith('#')) return undefined;
  if (isPath(specifier)) {
    const real = await realpath(resolve(dirname(importer), specifier)).catch(() => importer);
    return unitOf(real) === undefined ? real : undefined;
  }
  const name = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1);
  for (let at = dirname(importer); dirname(at) !== at; at = dirname(at)) {
    const path = join(at, 'node_modules', ...name);
    const real = isNear(path) ? await realpath(path).catch(() => undefined) : undefined;
    if (real !== undefined) return unitOf(join(real, 'package.json')) === undefined ? real : undefined;
  }
  return undefined;
}

function leadsOut(specifier: string, where: string | undefined): BundleRefusal {
  const place = where === undefined ? '' : where.startsWith('the ') ? `, out of ${where}` : `, to ${where}`;
  return { problem: `${JSON.stringify(specifier)} leads out of the plugin${place}`, fix: STAY_INSIDE };
}
