import { createHash } from 'node:crypto';
import { readdir, readlink, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { PluginPin } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { parseForeign } from '../../contracts/foreign-json.ts';
import { isBelow, isOfGit } from '../files/territory.ts';
import { readPluginFile } from '../files/read-plugin-file.ts';
import { readRealFile } from '../files/read-real-file.ts';

/** Limit for one file. */
const MAX_BYTES = 1024 * 1024 * 1024;

/**
 * Checks that a plugin's directory matches its pin.
 * @throws PLUGIN_INVALID with what was found.
 */
export async function checkPin(name: string, root: string, { version, digest }: PluginPin): Promise<void> {
  if (version !== undefined) {
    const found = await versionOf(root);
    if (found !== version) {
      throw unlike(name, `it is pinned to version ${version}, and ${found ?? 'none'} is installed`, `Install ${name}@${version}, or change the pin`);
    }
  }
  if (digest !== undefined) {
    const found = await digestOf(root);
    if (found !== digest) throw unlike(name, `it is pinned to ${digest}, and its files have ${found}`, 'Look at what has changed, then change the pin');
  }
}

/**
 * `sha256:…` of the names and contents of all files of a directory. Files of git (`.git`) are left out. A link counts with its target path.
 * @throws PLUGIN_INVALID for a link out of the directory: the digest would not notice a change of its target
 */
export async function digestOf(root: string): Promise<string> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isLink: entry.isSymbolicLink() }))
    .filter(({ path }) => !isOfGit(relative(root, path)))
    .map((file) => ({ ...file, name: relative(root, file.path).split(sep).join('/') }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const top = await realpath(root);
  const hash = createHash('sha256');
  for (const { path, isLink, name } of files) {
    if (isLink && !(await realpath(path).catch(() => '')).startsWith(`${top}${sep}`)) {
      throw unlike(root, `it has no digest, since its link ${name} leads out of it`, 'Put what it leads to there');
    }
    const content = isLink ? await readlink(path) : await contentOf(root, top, path, name);
    // Lengths separate names and contents, so that two different trees never give the same input.
    hash.update(`${isLink ? 'link' : 'file'} ${Buffer.byteLength(name)} ${name} ${Buffer.byteLength(content)} `).update(content);
  }
  return `sha256:${hash.digest('hex')}`;
}

async function contentOf(root: string, top: string, path: string, name: string): Promise<Buffer> {
  const found = await readRealFile(await realpath(path), (real) => isBelow(real, top), MAX_BYTES);
  if ('content' in found) return found.content;
  const problem = found.problem === 'refused' ? 'is no file that can be read' : `has ${found.size} bytes, and may have ${MAX_BYTES}`;
  throw unlike(root, `it has no digest, since ${name} ${problem}`, 'Remove it, or let the worker read it');
}

async function versionOf(root: string): Promise<string | undefined> {
  try {
    const { version } = parseForeign(await readPluginFile(root, 'package.json')) as { version?: unknown };
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

function unlike(name: string, problem: string, fix: string): Error {
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix });
}
