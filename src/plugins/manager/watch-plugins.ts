import { watch, type FSWatcher } from 'node:fs';
import type { Logger } from '../../log.ts';
import { rootOf } from '../load-plugins.ts';
import type { PluginManager } from './plugin-manager.ts';

export interface WatchOptions {
  /** Names of sources, as agents give them. */
  names: string[];
  /** Where the names are looked for. */
  directory: string;
  plugins: Pick<PluginManager, 'reload'>;
  log: Logger;
  /** How long a directory has to be quiet. Default 200 ms. */
  quietMs?: number;
}

const QUIET_MS = 200;
/** What a build or an installation writes by the thousand. */
const IGNORED = /(^|[\\/])(node_modules|\.git)([\\/]|$)/;

/** Loads plugins again whose directories change. Disposing it ends the watch, once what it set off is done. */
export async function watchPlugins({ names, directory, plugins, log, quietMs = QUIET_MS }: WatchOptions): Promise<AsyncDisposable> {
  const watchers: FSWatcher[] = [];
  const timers = new Map<string, NodeJS.Timeout>();
  const reloads = new Set<Promise<void>>();
  const reload = (name: string) => {
    timers.delete(name);
    log.info({ plugin: name }, 'the directory of a plugin has changed; it is loaded again');
    const reloading = plugins
      .reload(name)
      .catch((error: unknown) => log.error({ plugin: name, err: error }, 'a plugin could not be loaded again'))
      .finally(() => reloads.delete(reloading));
    reloads.add(reloading);
  };
  for (const name of names) {
    try {
      const watcher = watch(await rootOf(name, directory), { recursive: true }, (_event, file) => {
        if (file !== null && IGNORED.test(file)) return;
        clearTimeout(timers.get(name));
        timers.set(name, setTimeout(reload, quietMs, name));
      });
      watcher.on('error', (error) => log.warn({ plugin: name, err: error }, 'the directory of a plugin is not watched any more'));
      watchers.push(watcher);
    } catch (error) {
      log.warn({ plugin: name, err: error }, 'the directory of a plugin cannot be watched');
    }
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const watcher of watchers) watcher.close();
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(reloads);
    },
  };
}
