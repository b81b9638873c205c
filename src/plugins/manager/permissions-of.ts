import type { JsonObject } from '../../contracts/json.ts';
import type { Plugin } from '../define-plugin.ts';

/** All that the tools of a plugin ask for together. */
export function permissionsOf(tools: Plugin['tools']): JsonObject {
  const all: JsonObject = {};
  for (const name of ['network', 'env', 'fs'] as const) {
    const list = [...new Set(tools.flatMap(({ permissions }) => permissions[name] ?? []))];
    if (list.length > 0) all[name] = list;
  }
  for (const name of ['time', 'random'] as const) if (tools.some(({ permissions }) => permissions[name] === true)) all[name] = true;
  return all;
}
