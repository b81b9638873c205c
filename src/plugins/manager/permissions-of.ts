import type { JsonObject } from '../../contracts/json.ts';
import type { Plugin } from '../api/define-plugin.ts';

/** The permissions of all tools of a plugin together, and the variables of the plugin itself. */
export function permissionsOf(tools: Plugin['tools'], environment: Plugin['environment'] = []): JsonObject {
  const all: JsonObject = {};
  const variables = environment.map(({ name }) => name);
  for (const name of ['network', 'env', 'fs'] as const) {
    const list = [...new Set([...(name === 'env' ? variables : []), ...tools.flatMap(({ permissions }) => permissions[name] ?? [])])];
    if (list.length > 0) all[name] = list;
  }
  for (const name of ['time', 'random'] as const) if (tools.some(({ permissions }) => permissions[name] === true)) all[name] = true;
  return all;
}
