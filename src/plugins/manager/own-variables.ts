import { isOwnVariable } from '../../platform/own-variables.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

/** What is wrong with a plugin that asks for variables of Longshore's own. */
export function problemOfOwnVariables({ id, tools, environment }: Pick<Plugin, 'id' | 'tools' | 'environment'>): Error | undefined {
  const names = [...environment.map(({ name }) => name), ...tools.flatMap(({ permissions }) => permissions.env ?? [])];
  const own = [...new Set(names.filter(isOwnVariable))];
  if (own.length === 0) return undefined;
  return pluginInvalid(id, `it asks for ${own.join(' and ')}, which no plugin may have`, 'Use a variable with another name, and set that for the worker');
}
