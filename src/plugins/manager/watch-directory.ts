import { readdirSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Logger } from '../../platform/log.ts';

/** Directories in which a build or an installation writes thousands of files. */
const IGNORED = new Set(['node_modules', '.git']);

export interface WatchedDirectory extends Disposable {
  /** Watches the directories that exist now. Must be called after a change, because a watch of a directory that was replaced reports nothing more. */
  renew(): void;
}

/**
 * Calls `onChange` when anything in a directory changes, or when the directory itself is created, removed or replaced. `node_modules` and `.git` are left out.
 * Directories are watched one by one: one watch over a whole tree would open all of `node_modules`, and reports nothing after the directory was replaced.
 */
export function watchDirectory(root: string, onChange: () => void, log: Logger): WatchedDirectory {
  const watchers = new Map<string, FSWatcher>();
  const add = (path: string, concerns: (name: string | null) => boolean) => {
    try {
      const watcher = watch(path, (_event, name) => {
        if (concerns(name)) onChange();
      });
      watcher.on('error', () => watcher.close());
      watchers.set(path, watcher);
    } catch (error) {
      // The directory was just removed; the watch of the directory above it reports that.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  };
  const close = () => {
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
  };
  const renew = () => {
    close();
    try {
      const next = addNearest(root, add);
      if (next === undefined) for (const path of directoriesOf(root)) add(path, (name) => name === null || !IGNORED.has(name));
    } catch (error) {
      log.warn({ directory: root, err: error }, 'the directory of a plugin is not watched');
    }
  };
  renew();
  return { renew, [Symbol.dispose]: close };
}

/** Watches for the next part of a path in the nearest directory above it that exists. Returns that part while it is missing. */
function addNearest(path: string, add: (path: string, concerns: (name: string | null) => boolean) => void): string | undefined {
  const above = dirname(path);
  if (above === path) return undefined;
  const part = basename(path);
  if (!isThere(above)) return addNearest(above, add) ?? part;
  add(above, (name) => name === null || name === part);
  return isThere(path) ? undefined : part;
}

function directoriesOf(root: string): string[] {
  const inner = entriesOf(root).filter((entry) => entry.isDirectory() && !IGNORED.has(entry.name));
  return [root, ...inner.flatMap(({ name }) => directoriesOf(join(root, name)))];
}

function isThere(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A directory that is removed during the read has no entries. */
function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}
