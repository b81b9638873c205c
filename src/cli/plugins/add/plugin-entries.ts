import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PermissionBound } from '../../../contracts/agent.ts';
import { failure } from '../../../contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '../../../contracts/json.ts';
import type { AgentFile, ChangedFile } from '../../../definitions/edit/agent-files.ts';
import { withItem, yamlLine } from '../../../definitions/edit/edit-yaml.ts';
import type { Plugin } from '../../../plugins/api/define-plugin.ts';
import { excessesOver } from '../../../plugins/manager/permission-bounds.ts';
import { permissionsIn } from '../../../plugins/manager/permission-grants.ts';
import type { AgentEntries } from './agent-entries.ts';
import { asksFor } from './changes.ts';

/** What is to be written at a plugin's entry. */
export interface Pinned {
  place: string;
  source: string;
  digest: string;
  plugin: Plugin;
  /** The version in its place. */
  before?: Plugin | undefined;
}

/** Where the plugin in a place came from, as the agents that pin it say. */
export function sourcesOfPlace({ agents }: AgentEntries, place: string): string[] {
  return [...new Set([...agents.values()].flatMap(({ pluginPins }) => pluginPins?.[place]?.source ?? []))];
}

/** The digests by which agents pin the plugin in a place. */
export function digestsOfPlace({ agents }: AgentEntries, place: string): string[] {
  return [...new Set([...agents.values()].flatMap(({ pluginPins }) => pluginPins?.[place]?.digest ?? []))];
}

/** Agents whose files are programs and pin the plugin. */
export function programsThatPin({ agents, files }: AgentEntries, place: string): string[] {
  const pinning = [...agents.values()].filter(({ pluginPins }) => pluginPins?.[place]?.digest !== undefined);
  return pinning.map(({ id }) => id).filter((id) => files.every((file) => file.id !== id));
}

/** The files that change: those that pin the plugin, and those of `wanted` agents. @throws INVALID_ARGUMENT for one that cannot be changed */
export async function entriesAfter({ files }: AgentEntries, wanted: string[], pinned: Pinned): Promise<ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const file of files) {
    let { text } = file;
    const isWanted = wanted.includes(file.id);
    const items = (Array.isArray(file.value['plugins']) ? file.value['plugins'] : []).map((item, index) => ({ item, index }));
    const known = items.filter(({ item }) => pathOf(item, file) === pinned.place);
    for (const { item, index } of known) {
      const entry = isWanted || isPinned(item) ? await entryInPlaceOf(item, pinned) : item;
      if (!isDeepStrictEqual(entry, item)) text = written(file, text, index, entry);
    }
    if (isWanted && known.length === 0) text = written(file, text, undefined, entryFor(dirname(file.path), pinned));
    if (text !== file.text) changed.push({ file, text });
  }
  return changed;
}

/** The entry of a plugin in a file of a directory. It allows exactly what the plugin asks for. */
export function entryFor(directory: string, { place, source, digest, plugin }: Pinned): JsonObject {
  const path = relative(directory, place).split(sep).join('/');
  return { path: /^\.{0,2}\//.test(path) ? path : `./${path}`, source, digest, permissions: asksFor(plugin) };
}

/** An operator may have allowed more than a plugin asked for, or left that to grants: only what changes of its questions is changed. */
async function entryInPlaceOf(item: Json, pinned: Pinned): Promise<JsonObject> {
  const { source, digest, plugin } = pinned;
  if (!isObject(item)) return { path: item, source, digest, permissions: asksFor(plugin) };
  const { path = '', permissions } = item;
  const bound = isObject(permissions) ? (permissions as PermissionBound) : isPinned(item) ? undefined : {};
  return { path, source, digest, ...(bound && { permissions: await boundAfter(bound, pinned) }) };
}

async function boundAfter(bound: PermissionBound, { plugin, before }: Pinned): Promise<JsonObject> {
  const [asked, asks] = [before ? asksFor(before) : {}, asksFor(plugin)];
  const excesses = await excessesOver(plugin, [bound]);
  const more: JsonObject = permissionsIn(excesses.filter(({ value }) => value !== undefined));
  const after: JsonObject = {};
  for (const name of ['network', 'env', 'fs'] as const) {
    const gone = (value: string) => listOf(asked[name]).includes(value) && !listOf(asks[name]).includes(value);
    const list = [...(bound[name] ?? []).filter((value) => !gone(value)), ...listOf(more[name])];
    if (list.length > 0) after[name] = list;
  }
  for (const name of ['time', 'random'] as const) {
    if (excesses.some(({ permission }) => permission === name) || (bound[name] && !(asked[name] && !asks[name]))) after[name] = true;
  }
  return after;
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function isPinned(item: Json): boolean {
  return isObject(item) && (item['digest'] !== undefined || item['source'] !== undefined);
}

function pathOf(item: Json, { path: file }: AgentFile): string | undefined {
  const path = isObject(item) ? item['path'] : typeof item === 'string' && (isAbsolute(item) || item.startsWith('.')) ? item : undefined;
  return typeof path === 'string' ? resolve(dirname(file), path) : undefined;
}

function written({ path }: AgentFile, text: string, index: number | undefined, entry: Json): string {
  const changed = withItem(text, 'plugins', index, entry);
  if (changed !== undefined) return changed;
  const fix = `Write this into it, or leave --agent out: ${yamlLine(entry)}`;
  throw failure('INVALID_ARGUMENT', { what: path, problem: 'its list of plugins is written in a way that is not changed here', fix });
}
