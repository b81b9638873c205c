import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from '../../platform/log.ts';
import { isPath, modulesAbove, rootOf } from '../load/locate-plugin.ts';
import type { PluginManager } from './plugin-manager.ts';
import { watchDirectory, type WatchedDirectory } from './watch-directory.ts';

export interface WatchOptions {
  /** Names of sources, as agents give them. */
  names: string[];
  /** The directory in which the names are looked up. */
  directory: string;
  plugins: Pick<PluginManager, 'reload'>;
  log: Logger;
  /** How long a directory must be unchanged before its plugin is loaded again. Default 200 ms. */
  quietMs?: number;
}

const QUIET_MS = 200;

/** Loads plugins again whose directories are changed, created or replaced. Disposing it ends the watch and waits for the loads that it started. */
export async function watchPlugins({ names, directory, plugins, log, quietMs = QUIET_MS }: WatchOptions): Promise<AsyncDisposable> {
  const watched = new Map<string, WatchedDirectory>();
  const timers = new Map<string, NodeJS.Timeout>();
  const reloads = new Set<Promise<void>>();
  const reload = (name: string) => {
    timers.delete(name);
    // Renewed first, so that no change during the load is missed.
    watched.get(name)?.renew();
    log.info({ plugin: name }, 'the directory of a plugin has changed; it is loaded again');
    const reloading = plugins
      .reload(name)
      .catch((error: unknown) => log.error({ plugin: name, err: error }, 'a plugin could not be loaded again'))
      .finally(() => reloads.delete(reloading));
    reloads.add(reloading);
  };
  const changed = (name: string) => {
    clearTimeout(timers.get(name));
    timers.set(name, setTimeout(reload, quietMs, name));
  };
  for (const name of names) {
    const root = await placeOf(name, directory);
    watched.set(
      name,
      watchDirectory(root, () => changed(name), log),
    );
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const each of watched.values()) each[Symbol.dispose]();
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(reloads);
    },
  };
}

/** The directory of a plugin, or where it would be. */
async function placeOf(name: string, directory: string): Promise<string> {
  try {
    return await rootOf(name, directory);
  } catch {
    const above = modulesAbove(directory);
    return isPath(name) ? resolve(directory, name) : resolve(directory, above.find(existsSync) ?? 'node_modules', name);
  }
}
