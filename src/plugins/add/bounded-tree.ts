import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pluginInvalid } from '../api/plugin-invalid.ts';

const FAULTS_OF_NAMES = ['EEXIST', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'EINVAL', 'EILSEQ'];

/** A new directory that takes files of a stranger. */
export interface BoundedTree {
  /** The name of the plugin, for messages. */
  readonly plugin: string;
  /** Bytes that it still takes. */
  readonly left: number;
  directory(name: string): Promise<void>;
  file(name: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void>;
  /** The error for a plugin that has more than it takes. */
  tooMuch(this: void): Error;
}

export interface TreeLimits {
  entries: number;
  bytes: number;
}

export const TREE_LIMITS: TreeLimits = { entries: 10_000, bytes: 200 * 1024 * 1024 };
const MOST_NESTED = 40;
/** What git keeps is not part of a digest, and programs that packages bring are links that no plugin needs. */
const LEFT_OUT = /(?:^|\/)(?:\.git|node_modules\/\.bin)(?:\/|$)/i;

/**
 * Takes files and directories by names that lead nowhere else, each once, and no more than a plugin may have. It makes no links, so that no name leads through
 * one. Names are relative, with `/`.
 * @param root an empty directory to which no other process writes
 */
export function createTree(plugin: string, root: string, limits: TreeLimits = TREE_LIMITS): BoundedTree {
  let { entries, bytes } = limits;
  const tooMuch = () => pluginInvalid(plugin, `it has more than ${limits.entries} files or ${limits.bytes / 2 ** 20} MB`, 'Take out what it does not need');
  const take = (name: string): string | undefined => {
    entries -= 1;
    if (entries < 0) throw tooMuch();
    const parts = name.split('/').filter((part) => part !== '' && part !== '.');
    const leadsOut = name.startsWith('/') || parts.includes('..') || name.includes('\0') || name.includes('\\');
    if (leadsOut || parts.length > MOST_NESTED) {
      throw pluginInvalid(plugin, `its ${JSON.stringify(name.slice(0, 200))} ${leadsOut ? 'is no usable name of a file' : 'is nested too deep'}`, 'Rename it');
    }
    const usable = parts.join('/');
    return usable === '' || LEFT_OUT.test(usable) ? undefined : join(root, usable);
  };
  const count = (size: number) => {
    bytes -= size;
    if (bytes < 0) throw tooMuch();
  };
  return {
    plugin,
    tooMuch,
    get left() {
      return bytes;
    },
    async directory(name) {
      const path = take(name);
      if (path !== undefined) await made(plugin, name, () => mkdir(path, { recursive: true }));
    },
    async file(name, content) {
      const path = take(name);
      if (path !== undefined) await made(plugin, name, () => mkdir(dirname(path), { recursive: true }));
      await using file = path === undefined ? undefined : await made(plugin, name, () => open(path, 'wx', 0o644));
      for await (const piece of content) {
        count(piece.length);
        if (file) await made(plugin, name, () => file.writeFile(piece));
      }
    },
  };
}

async function made<Made>(plugin: string, name: string, make: () => Promise<Made>): Promise<Made> {
  try {
    return await make();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const problem = ['EEXIST', 'ENOTDIR', 'EISDIR'].includes(code) ? 'is there twice' : `cannot be written (${(error as Error).message})`;
    const fix = FAULTS_OF_NAMES.includes(code) ? 'Rename it' : 'Make room for it, or correct what keeps it from being written';
    throw pluginInvalid(plugin, `its ${JSON.stringify(name.slice(0, 200))} ${problem}`, fix, error);
  }
}

/** @param name relative to the plugin's directory */
export function noOrdinaryFile(plugin: string, name: string): Error {
  return pluginInvalid(plugin, `its ${JSON.stringify(name.slice(0, 200))} is no ordinary file`, 'Put the file itself there');
}
