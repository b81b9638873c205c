import { longshore } from './longshore/dialect.ts';
import { maibot } from './maibot/dialect.ts';
import { mcp } from './mcp/dialect.ts';
import { nekro } from './nekro/dialect.ts';
import { pandora } from './pandora/dialect.ts';
import type { PluginDialect } from './shared/plugin-dialect.ts';

/** All dialects, in the order in which messages name them. */
export const DIALECTS: readonly PluginDialect[] = [longshore, pandora, maibot, nekro, mcp];

/** The dialect of this name. A plugin may name one that does not exist: it is like a plugin of Longshore's own dialect. */
export function dialectNamed(name: string | undefined): PluginDialect {
  return DIALECTS.find((dialect) => dialect.name === name) ?? longshore;
}
