import { realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { PermissionBound, PluginPin } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { Permissions, Plugin } from '../api/define-plugin.ts';

/** The parts of a plugin that decide which permissions it asks for. */
export type Asking = Pick<Plugin, 'tools' | 'environment'>;

/** One permission that a plugin wants beyond a bound. */
export interface Excess {
  who: string;
  permission: keyof Permissions;
  /** Absent for a permission that has no list of values. */
  value?: string;
  allowed: string[];
}

const MOST_TOLD = 5;

/** The upper bounds of a plugin's permissions, from the agents that name it. */
export function boundsOf(pins: PluginPin[]): PermissionBound[] {
  return pins.flatMap(({ permissions }) => permissions ?? []);
}

/**
 * Checks that a plugin wants no more than each of the bounds allows.
 * @throws PLUGIN_INVALID naming the tool, the permission, the value and the key that would allow it.
 */
export async function checkBounds(plugin: Pick<Plugin, 'id'> & Asking, bounds: PermissionBound[]): Promise<void> {
  const excesses = await excessesOver(plugin, bounds);
  const [first] = excesses;
  if (!first) return;
  const all = [...new Set(excesses.map(describe))];
  const more = all.length > MOST_TOLD ? `; and ${all.length - MOST_TOLD} more` : '';
  const { permission, value } = first;
  const key = value === undefined ? `permissions.${permission}: true` : `${JSON.stringify(value)} to permissions.${permission}`;
  throw failure('PLUGIN_INVALID', {
    plugin: JSON.stringify(plugin.id),
    problem: all.slice(0, MOST_TOLD).join('; ') + more,
    fix: `To allow it, add ${key} at the plugin's entry of "plugins" in the agent's file`,
  });
}

/** The permissions that a plugin wants beyond one of the bounds. */
export async function excessesOver({ tools, environment }: Asking, bounds: PermissionBound[]): Promise<Excess[]> {
  const variables = environment.map(({ name }) => name);
  const wanted: [who: string, permissions: Permissions][] = [
    ['it', { env: variables }],
    ...tools.map(({ id, permissions }): [string, Permissions] => [`its tool "${id}"`, permissions]),
  ];
  const all = await Promise.all(bounds.flatMap((bound) => wanted.map(([who, permissions]) => excessesOf(who, permissions, bound))));
  return all.flat();
}

async function excessesOf(who: string, wanted: Permissions, bound: PermissionBound): Promise<Excess[]> {
  const flags = (['time', 'random'] as const).filter((permission) => wanted[permission] && !bound[permission]);
  const lists = await Promise.all(
    (['network', 'env', 'fs'] as const).map(async (permission) => {
      const allowed = bound[permission] ?? [];
      const values = wanted[permission] ?? [];
      const covered = await Promise.all(values.map(async (value) => COVERS[permission](value, allowed)));
      return values.filter((_, index) => !covered[index]).map((value): Excess => ({ who, permission, value, allowed }));
    }),
  );
  return [...flags.map((permission): Excess => ({ who, permission, allowed: [] })), ...lists.flat()];
}

/** Whether a value is among those that are allowed. */
const COVERS: Record<'network' | 'env' | 'fs', (value: string, allowed: string[]) => boolean | Promise<boolean>> = {
  network: coversHost,
  env: (value, allowed) => allowed.includes(value),
  async fs(value, allowed) {
    const path = await reallyAt(value);
    const roots = await Promise.all(allowed.map(reallyAt));
    return roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
  },
};

/** Whether a host is among those that are allowed. A host without a port allows all its ports. */
export function coversHost(value: string, allowed: readonly string[]): boolean {
  const names = allowed.map((name) => name.toLowerCase());
  const host = value.toLowerCase();
  return names.includes(host) || names.includes(host.replace(/:\d+$/, ''));
}

/** The path after all links are resolved; a path that does not exist yet stays as it is. */
async function reallyAt(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

function describe({ who, permission, value, allowed }: Excess): string {
  if (value === undefined) return `${who} asks for the permission ${permission}, which an agent does not grant`;
  return `${who} asks for the permission ${permission} for ${JSON.stringify(value)}, and an agent grants at most: ${allowed.join(', ') || 'none'}`;
}
