import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../../src/contracts/json.ts';
import type { Plugin, PluginHost } from '../../../src/plugins/api/define-plugin.ts';
import type { Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import { loadPlugins } from '../../../src/plugins/load/load-plugins.ts';

const directory = fileURLToPath(new URL('../../fixtures/plugins', import.meta.url));

/** Loads a plugin of the fixtures; throws what went wrong. */
export async function loadFixture(name: string, isolates?: Isolates, more: { directory?: string; trusted?: boolean } = {}): Promise<Plugin> {
  const hostPlugins = more.trusted ? [`./${name}`] : [];
  const { plugins, problems } = await loadPlugins([`./${name}`], { directory: more.directory ?? directory, isolates, hostPlugins });
  if (problems[0]) throw problems[0].error;
  return plugins[0]!;
}

/** What a plugin is given when it is loaded; what it logs is thrown away. */
export function hostOf(config: JsonObject, env: Record<string, string> = {}): PluginHost {
  return { env, config, logger: { info: () => undefined, warn: () => undefined } };
}
