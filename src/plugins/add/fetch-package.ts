import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { valid } from 'semver';
import { excessOf, tryParseForeign } from '../../contracts/foreign-json.ts';
import { isObject } from '../../contracts/json.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';
import type { BoundedTree } from './bounded-tree.ts';
import type { PluginOrigin } from './read-origin.ts';
import { runFetcher, type Fetching } from './run-fetcher.ts';
import { unpackTar } from './unpack-tar.ts';

/** Puts the files of a package into a tree. npm checks them against the registry's digest, and runs nothing. @returns the version */
export async function fetchPackage(
  { name, wanted }: Extract<PluginOrigin, { kind: 'package' }>,
  tree: BoundedTree,
  fetching: Fetching,
): Promise<{ version: string }> {
  const { plugin, work, signal } = fetching;
  // A project of its own: npm takes no settings from the directories above it.
  await writeFile(join(work, 'package.json'), '{}');
  const options = ['--json', '--ignore-scripts', '--no-update-notifier', '--prefix', work, '--pack-destination', work];
  const said = await runFetcher('npm', ['pack', ...options, '--', wanted === undefined ? name : `${name}@${wanted}`], fetching);
  // What npm says grows with the files of the package.
  if (excessOf(said) !== undefined) throw tree.tooMuch();
  const version = versionIn(said, name);
  const archive = (await readdir(work)).find((file) => file.endsWith('.tgz'));
  if (version === undefined || archive === undefined) throw pluginInvalid(plugin, 'npm did not say which version it has fetched', 'Update npm');
  await unpackTar(join(work, archive), tree, { gzip: true, strip: 1, signal });
  return { version };
}

function versionIn(said: string, wanted: string): string | undefined {
  const packed = tryParseForeign(said);
  const [first] = Array.isArray(packed) ? packed : isObject(packed) ? Object.values(packed) : [];
  if (!isObject(first) || first['name'] !== wanted || typeof first['version'] !== 'string') return undefined;
  return valid(first['version']) ?? undefined;
}
