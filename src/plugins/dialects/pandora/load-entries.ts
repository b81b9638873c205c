import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inTime } from '../../../common/in-time.ts';
import { isFailure } from '../../../contracts/errors.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { Permissions, Plugin, PluginHost, Tool } from '../../api/define-plugin.ts';
import { alertsOf } from '../../api/plugin-details.ts';
import type { LocatedPlugin } from '../shared/plugin-dialect.ts';
import { adaptEntries, pick, type AdaptedEntries } from './adapt-tools.ts';
import type { ToolEntry } from './manifest.ts';
import { pluginInvalid } from '../../api/plugin-invalid.ts';

/** An entry of the manifest, with its index there and the permissions of its tools. */
export interface Entry extends ToolEntry {
  index: number;
  permissions: Permissions;
}

/** The tools of some entries; `tools` and `alerts` are read again after `load`. */
export type LoadedEntries = Pick<Plugin, 'tools' | 'alerts' | 'load' | 'isAsleep'>;

export interface EntriesOptions extends Pick<LocatedPlugin, 'name' | 'root' | 'isolate'> {
  /** The plugin's id. */
  id: string;
  /** Milliseconds, for code in the worker's own process; the isolates have a limit of their own. Default 10 000. */
  resolveTimeoutMs?: number;
  /** Fields of a tool that override the code's own. */
  settle(this: void, described: JsonObject): Partial<Tool>;
}

const own = (name: string) => fileURLToPath(new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
const RESOLVE_TIMEOUT_MS = 10_000;
/** Each group of entries has a process for each tenant. */
const MOST_GROUPS = 16;

/**
 * Loads the code of entries. Entries with the same permissions share a process. Entries with different permissions do not: they would share global names, and
 * code outside of functions would run with permissions of other entries.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function loadEntries(options: EntriesOptions, entries: Entry[]): Promise<LoadedEntries[]> {
  const open = entries.filter(({ sandbox }) => sandbox === 'host');
  const groups = new Map<string, Entry[]>();
  for (const entry of entries.filter(({ sandbox }) => sandbox === 'compartment')) {
    const key = keyOf(entry.permissions);
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  if (groups.size > MOST_GROUPS) {
    const problem = `its entries have ${groups.size} different sets of permissions, each of which needs a process, and may have ${MOST_GROUPS}`;
    throw pluginInvalid(options.name, problem, 'Give entries the same permissions');
  }
  const parts = open.length > 0 ? [await importEntries(options, open)] : [];
  for (const group of groups.values()) parts.push(await isolateEntries(options, group));
  return parts;
}

function keyOf({ time = false, random = false, network = [], env = [], fs = [] }: Permissions): string {
  return JSON.stringify([time, random, ...[network, env, fs].map((list) => [...new Set(list)].toSorted())]);
}

async function isolateEntries({ name, root, isolate, id, settle }: EntriesOptions, entries: Entry[]): Promise<LoadedEntries> {
  if (!isolate) throw pluginInvalid(name, 'this process cannot isolate plugins', 'Load it in a worker');
  const { permissions = {}, entry = '', index = 0 } = entries[0] ?? {};
  // The process may say of a tool what it likes; it is of no entry that has other permissions.
  const own = (described: JsonObject) => (entries.some((one) => one.index === described['entry']) ? described : { ...described, entry: index });
  const wrapper = wrapperOf(await realpath(root), entries, permissions);
  try {
    const part: LoadedEntries = await isolate({
      entry: join(root, entry),
      wrapper,
      permissions,
      defaults: { id },
      settle: (described) => settle(own(described)),
    });
    const { load } = part;
    return load ? Object.assign(part, { load: (host: PluginHost) => load({ ...host, env: pick(host.env, permissions.env) }) }) : part;
  } catch (error) {
    throw told(name, error);
  }
}

/** A module that exports the tools of all entries as one plugin. Its imports are evaluated in the order in which they are written. */
function wrapperOf(root: string, entries: Entry[], { env = [] }: Permissions): string {
  const [adapter, module] = env.length > 0 ? ['adaptWithEnv', 'offer-env'] : ['adaptEntries', 'adapt-tools'];
  const imports = entries.map(({ entry }, at) => `import * as entry${at} from ${JSON.stringify(join(root, entry))};`);
  const modules = entries.map(
    ({ index, entry, permissions }, at) =>
      `{ entry: ${index}, path: ${JSON.stringify(entry)}, permissions: ${JSON.stringify(permissions)}, exports: entry${at} }`,
  );
  return `import { ${adapter} } from ${JSON.stringify(own(module))};\n${imports.join('\n')}\nexport default ${adapter}([${modules.join(', ')}]);\n`;
}

async function importEntries({ name, root, settle, resolveTimeoutMs = RESOLVE_TIMEOUT_MS }: EntriesOptions, entries: Entry[]): Promise<LoadedEntries> {
  const modules = await Promise.all(
    entries.map(async ({ entry, index, permissions }) => ({ entry: index, path: entry, permissions, exports: await importModule(name, join(root, entry)) })),
  );
  const toolsOf = ({ tools }: Pick<AdaptedEntries, 'tools'>) =>
    tools.map((tool) => ({ ...(tool as unknown as Tool), ...settle(tool), isolation: 'host' as const }));
  let adapted: AdaptedEntries;
  try {
    adapted = adaptEntries(modules);
  } catch (error) {
    throw told(name, error);
  }
  const { load } = adapted;
  const part: LoadedEntries = { tools: toolsOf(adapted), alerts: alertsOf(adapted.alerts) };
  if (!load) return part;
  return Object.assign(part, {
    async load(host: PluginHost) {
      const found = await inTime(load(host), resolveTimeoutMs, () => new Error(`it did not answer within ${resolveTimeoutMs} ms`));
      Object.assign(part, { tools: toolsOf(found), alerts: alertsOf(found.alerts) });
    },
  });
}

async function importModule(name: string, path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    throw pluginInvalid(name, `${path} cannot be imported (${(error as Error).message})`, 'Correct that file', error);
  }
}

/** An error of definePlugin has a fix of its own. */
function told(name: string, error: unknown): Error {
  if (!isFailure(error, 'PLUGIN_INVALID')) return pluginInvalid(name, (error as Error).message, 'Correct its code', error);
  const { problem = '', fix = '' } = error.values;
  return pluginInvalid(name, String(problem), String(fix), error);
}
