import { realpath, stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { failure } from '../../contracts/errors.ts';
import { isBelow } from '../files/territory.ts';
import { createTree } from './bounded-tree.ts';
import { copyDirectory } from './copy-directory.ts';
import { fetchPackage } from './fetch-package.ts';
import { fetchRepository } from './fetch-repository.ts';
import type { PluginOrigin } from './read-origin.ts';
import type { Staging } from './staging.ts';

export interface Bringing {
  /** What the person wrote, for messages. */
  given: string;
  staging: Staging;
  /** Directory of agents; a source on this machine is written relative to it. */
  agents: string;
  signal: AbortSignal;
}

/** Puts the files of a plugin into the staging directory. @returns where they came from, exactly: with version or commit */
export async function bringPlugin(origin: PluginOrigin, { given, staging, agents, signal }: Bringing): Promise<string> {
  const tree = createTree(given, staging.root);
  const fetching = { plugin: given, work: staging.work, signal, tooMuch: tree.tooMuch };
  if (origin.kind === 'package') {
    const { version } = await fetchPackage(origin, tree, fetching);
    return `npm:${origin.name}@${version}`;
  }
  if (origin.kind === 'repository') {
    const { commit } = await fetchRepository(origin, tree, fetching);
    return `${origin.url}#${commit}`;
  }
  const from = await realDirectory(origin.path);
  // It would be copied into itself.
  if (isBelow(await realpath(staging.directory), from))
    throw failure('INVALID_ARGUMENT', {
      what: 'source',
      problem: `${from} contains the directory of plugins`,
      fix: 'Give the directory of one plugin, or another --directory',
    });
  await copyDirectory(from, tree, signal);
  return relative(agents, from).split(sep).join('/');
}

async function realDirectory(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return realpath(path);
  throw failure('INVALID_ARGUMENT', { what: 'source', problem: `there is no directory ${path}`, fix: 'Correct the path' });
}
