import { isDeepStrictEqual } from 'node:util';
import { permissionsOf } from '../../../plugins/manager/permissions-of.ts';
import type { Plugin } from '../../../plugins/api/define-plugin.ts';
import type { Json, JsonObject } from '../../../contracts/json.ts';

/** A version of a plugin, as it is compared with another one. */
export interface PluginVersion {
  plugin: Plugin;
  requirements: string[];
  /** Where it came from, if that is known. */
  source?: string | undefined;
}

/** What of a tool people approve, and what the model reads of it. */
const PARTS = ['description', 'parameters', 'permissions', 'annotations', 'requireApproval', 'isolation', 'kind', 'visibility', 'resultSchema'] as const;

/** What differs between two versions of a plugin, one line each. What it may do comes first. */
export function changesOf(before: PluginVersion, after: PluginVersion): string[] {
  const [old, now] = [before.plugin, after.plugin];
  const [asked, asks] = [asksFor(old), asksFor(now)];
  const [more, less] = [without(asks, asked), without(asked, asks)];
  const [ids, oldIds] = [now.tools.map(({ id }) => id), old.tools.map(({ id }) => id)];
  return [
    ...when(Object.keys(more).length > 0, `permissions: it also asks for ${JSON.stringify(more)}`),
    ...when(Object.keys(less).length > 0, `permissions: it no longer asks for ${JSON.stringify(less)}`),
    ...listed('new tools', missingIn(ids, oldIds)),
    ...listed('removed tools', missingIn(oldIds, ids)),
    ...now.tools.flatMap((tool) => {
      const known = old.tools.find(({ id }) => id === tool.id);
      const parts = known ? PARTS.filter((part) => !isDeepStrictEqual(tool[part], known[part])) : [];
      return when(parts.length > 0, `changed tool: ${tool.id} (${parts.join(', ')})`);
    }),
    ...listed('new packages', missingIn(after.requirements, before.requirements)),
    ...listed('packages that it no longer needs', missingIn(before.requirements, after.requirements)),
    ...when(!isDeepStrictEqual(now.configSchema, old.configSchema), 'configuration: other settings'),
    ...when(!isDeepStrictEqual(now.dependencies ?? [], old.dependencies ?? []), `depends on: ${(now.dependencies ?? []).join(', ') || 'nothing'}`),
    ...when(now.dialect !== old.dialect, `style: ${old.dialect} -> ${now.dialect}`),
    ...when(now.version !== old.version, `version: ${old.version} -> ${now.version}`),
    ...when(before.source !== after.source, `source: ${before.source ?? 'unknown'} -> ${after.source}`),
  ];
}

/** All permissions of a plugin, with its own variables. */
export function asksFor({ tools, environment }: Plugin): JsonObject {
  return permissionsOf(tools, environment);
}

function without(permissions: JsonObject, others: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(permissions).flatMap(([name, value]): [string, Json][] => {
      const other = others[name];
      if (!Array.isArray(value)) return other === value ? [] : [[name, value]];
      const rest = value.filter((item) => !(Array.isArray(other) && other.includes(item)));
      return rest.length === 0 ? [] : [[name, rest]];
    }),
  );
}

function missingIn(list: string[], others: string[]): string[] {
  return list.filter((item) => !others.includes(item));
}

function listed(what: string, items: string[]): string[] {
  return when(items.length > 0, `${what}: ${items.join(', ')}`);
}

function when(holds: boolean, line: string): string[] {
  return holds ? [line] : [];
}
