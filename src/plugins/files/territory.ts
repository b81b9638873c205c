import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';

/** The files that a plugin may consist of. */
export interface Territory {
  /** The real path of the plugin's directory. */
  root: string;
  /** The real path of the directory of the plugin or package that a file belongs to, for the file's real path; undefined if it belongs to none. */
  unitOf(this: void, real: string): string | undefined;
  /** Whether a path, which may contain links, is below the plugin's directory or one of its node_modules. */
  isNear(this: void, path: string): boolean;
}

const MODULES = 'node_modules';

/**
 * A plugin may consist of its own directory and of packages in each node_modules where Node looks for them: those within its directory, and those in the
 * directories above it, where npm installs what several plugins share. The latter belong to the operator, so such a node_modules may itself be a link.
 * Everything else is judged by its real path: a link in a plugin or in a node_modules may not lead to other places.
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
      if (isBelow(real, root)) return unitWithin(root, real);
      const modules = shared.find((path) => isBelow(real, path));
      return modules === undefined ? undefined : (packageWithin(modules, real) ?? packageAt(modules, real));
    },
  };
}

function unitWithin(root: string, real: string): string | undefined {
  const path = relative(root, real);
  if (isOfGit(path)) return undefined;
  return packageWithin(root, real) ?? (path.split(sep).includes(MODULES) ? undefined : root);
}

/** Whether a path, relative to a plugin's directory, is among the files of git. Digests leave them out, so no code of a plugin may be there. */
export function isOfGit(path: string): boolean {
  return path.split(sep).includes('.git');
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

/** A name in node_modules that begins with a dot is a cache of some tool and not a package. */
function packageAt(modules: string, file: string): string | undefined {
  const [name = '', inner = '', ...rest] = relative(modules, file).split(sep);
  if (name.startsWith('.') || inner === '' || (name.startsWith('@') && rest.length === 0)) return undefined;
  return name.startsWith('@') ? join(modules, name, inner) : join(modules, name);
}
