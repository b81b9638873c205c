import { opendir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pluginInvalid } from '../api/plugin-invalid.ts';
import { readRealFile } from '../files/read-real-file.ts';
import { isBelow } from '../files/territory.ts';
import { noOrdinaryFile, type BoundedTree } from './bounded-tree.ts';

const LEFT_OUT = /(?:^|\/)(?:\.git|node_modules\/\.bin)$/i;

/** Copies the files of a directory, which may change meanwhile, into a tree. @throws PLUGIN_INVALID for links and for what a plugin may not have */
export async function copyDirectory(from: string, tree: BoundedTree, signal: AbortSignal): Promise<void> {
  const top = await realpath(from);
  const copyBelow = async (name: string): Promise<void> => {
    for await (const entry of await opendir(join(top, name))) {
      signal.throwIfAborted();
      const inner = name === '' ? entry.name : `${name}/${entry.name}`;
      if (LEFT_OUT.test(inner)) continue;
      if (entry.isDirectory()) {
        await tree.directory(inner);
        await copyBelow(inner);
      } else if (entry.isFile()) await copyFile(inner);
      else throw noOrdinaryFile(tree.plugin, inner);
    }
  };
  const copyFile = async (name: string): Promise<void> => {
    const found = await readRealFile(join(top, name), (real) => isBelow(real, top), tree.left);
    if ('content' in found) return tree.file(name, [found.content]);
    if (found.problem === 'refused') throw pluginInvalid(tree.plugin, `its ${JSON.stringify(name)} cannot be read`, 'Remove it, or let this user read it');
    throw tree.tooMuch();
  };
  await copyBelow('');
}
