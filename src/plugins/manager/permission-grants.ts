import { shellWord } from '../../common/shell-quoted.ts';
import type { PermissionBound } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { PluginSettings } from '../../store/plugin-rows.ts';
import type { Plugin } from '../api/define-plugin.ts';
import type { ManagerOptions } from './manager-options.ts';
import { boundsOf, coversHost, excessesOver, type Asking, type Excess } from './permission-bounds.ts';
import { permissionsOf } from './permissions-of.ts';
import type { PluginSource } from './plugin-source.ts';

const MOST_TOLD = 5;

/** Permissions that reach nothing outside of the plugin's process, so they need no grant. */
const HARMLESS = { time: true, random: true };

/**
 * What operators granted to a plugin of a source; undefined: everything. An operator who writes a bound grants what lies within it. A plugin in
 * LONGSHORE_HOST_PLUGINS is not limited by permissions.
 */
export function grantedTo(
  { options, settings }: { options: Pick<ManagerOptions, 'hostPlugins'>; settings: ReadonlyMap<string, Pick<PluginSettings, 'granted'>> },
  source: PluginSource,
  pluginId: string,
): PermissionBound | undefined {
  if (options.hostPlugins.includes(source.name) || boundsOf(source.pins).length > 0) return undefined;
  return settings.get(pluginId)?.granted ?? {};
}

/**
 * The hosts that operators let a plugin reach that has a network of its own, in production and elsewhere: those that each entry with `permissions` names, or
 * those of its grants.
 */
export function networkOf(
  { settings }: { settings: ReadonlyMap<string, Pick<PluginSettings, 'granted'>> },
  source: Pick<PluginSource, 'pins'>,
  pluginId: string,
): readonly string[] {
  const [first, ...others] = boundsOf(source.pins);
  if (!first) return settings.get(pluginId)?.granted?.network ?? [];
  return (first.network ?? []).filter((host) => others.every(({ network = [] }) => coversHost(host, network)));
}

/** The permissions that a plugin asks for and that no operator granted. */
export async function ungrantedOf(plugin: Asking, granted: PermissionBound | undefined): Promise<Excess[]> {
  return granted ? excessesOver(plugin, [{ ...granted, ...HARMLESS }]) : [];
}

/** @throws PERMISSION_NOT_GRANTED with the command that grants everything that is missing */
export async function checkGrants(plugin: Pick<Plugin, 'id'> & Asking, granted: PermissionBound | undefined): Promise<void> {
  const missing = await ungrantedOf(plugin, granted);
  if (missing.length === 0) return;
  const wanted = [...new Set(missing.map(({ who, permission, value }) => `${who} asks for the permission ${permission} for ${JSON.stringify(value)}`))];
  const more = wanted.length > MOST_TOLD ? `; and ${wanted.length - MOST_TOLD} more` : '';
  throw failure('PERMISSION_NOT_GRANTED', {
    plugin: plugin.id,
    problem: wanted.slice(0, MOST_TOLD).join('; ') + more,
    it: wanted.length === 1 ? 'it' : 'them',
    command: grantCommand(plugin.id, missing),
    // An entry is also a bound, so it must name everything that the plugin asks for.
    entry: inYaml(permissionsOf(plugin.tools, plugin.environment)),
  });
}

/** The command that grants what is missing. */
export function grantCommand(pluginId: string, missing: Excess[]): string {
  const options = Object.entries(permissionsIn(missing)).map(([name, values]) => `--${name} ${values.map(shellWord).join(' ')}`);
  return ['longshore plugins grant', shellWord(pluginId), ...options].join(' ');
}

/** The values of excesses by permission. None of them is a flag, because flags need no grant. */
export function permissionsIn(missing: Excess[]): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const { permission, value = '' } of missing) all[permission] = [...new Set([...(all[permission] ?? []), value])];
  return all;
}

function inYaml(permissions: JsonObject): string {
  const parts = Object.entries(permissions).map(
    ([name, value]) => `${name}: ${Array.isArray(value) ? `[${value.map(scalar).join(', ')}]` : JSON.stringify(value)}`,
  );
  return `permissions: { ${parts.join(', ')} }`;
}

/** In quotes where YAML could read something else. */
function scalar(value: unknown): string {
  const text = String(value);
  return /^[A-Za-z_/][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text) ? text : JSON.stringify(text);
}
