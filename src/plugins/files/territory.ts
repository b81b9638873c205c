import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';

/** The files that a plugin may be made of. */
export interface Territory {
  /** Its directory, by its real path. */
  root: string;
  /** The directory of the plugin or of the package that a file belongs to, both by their real paths; undefined for a file that belongs to none. */
  unitOf(this: void, real: string): string | undefined;
  /** Whether a path, which may contain links, is below the plugin's directory or one of its node_modules. */
  isNear(this: void, path: string): boolean;
}

const MODULES = 'node_modules';

/**
 * A plugin may be made of its own directory and of packages in the node_modules where Node looks for them: those within its directory, and those beside each
 * directory above it, into which npm installs what several plugins share. The latter are the operator's, so one of them may itself be a link. Everything
 * else is judged by its real path: a link within a plugin, or from a node_modules to elsewhere, leads out.
 */
export async function territoryOf(directory: string): Promise<Territory> {
  const root = await realpath(directory);
  const apparent = modulesAbove(root);
  const shared = (await Promise.all(apparent.map((path) => realpath(path).catch(() => undefined)))).filter((path) => path !== undefined);
  const within = (path: string) => [...apparent, ...shared].some((modules) => isBelow(path, modules));
  return {
    root,
    isNear: (path) => path === root || isBelow(path, root) || within(path) || apparent.includes(path),
    unitOf(real) {
      if (isBelow(real, root)) return packageWithin(root, real) ?? (relative(root, real).split(sep).includes(MODULES) ? undefined : root);
      const modules = shared.find((path) => isBelow(real, path));
      return modules === undefined ? undefined : (packageWithin(modules, real) ?? packageAt(modules, real));
    },
  };
}

export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

/** Where Node looks for packages above a directory. */
function modulesAbove(directory: string): string[] {
  const above = dirname(directory);
  if (above === directory) return [];
  return [basename(above) === MODULES ? above : join(above, MODULES), ...modulesAbove(above)];
}

/** The package in the innermost node_modules between a directory and a file. */
function packageWithin(directory: string, file: string): string | undefined {
  const parts = relative(directory, file).split(sep);
  const at = parts.lastIndexOf(MODULES);
  return at === -1 ? undefined : packageAt(join(directory, ...parts.slice(0, at + 1)), file);
}

/** What begins with a dot in node_modules is a cache of some tool and no package. */
function packageAt(modules: string, file: string): string | undefined {
  const [name = '', inner = '', ...rest] = relative(modules, file).split(sep);
  if (name.startsWith('.') || inner === '' || (name.startsWith('@') && rest.length === 0)) return undefined;
  return name.startsWith('@') ? join(modules, name, inner) : join(modules, name);
}
