import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import { problemsAsWritten } from '../plugins/manager/plugin-config.ts';
import type { PluginSettings } from '../store/plugin-rows.ts';
import type { Store } from '../store/store.ts';
import { createGrantCalls } from './grant-calls.ts';
import { configureOptions, flagOf, nameOf, pluginConfig } from './client-arguments.ts';
import type { PluginState, Plugins } from './types/installation-types.ts';
import { createPluginWebhookCalls } from './plugin-webhook-calls.ts';

/** Plugins of the installation: what the workers report about them and what operators set. */
export function createPluginCalls(store: Pick<Store, 'plugins' | 'pluginWebhooks'>, by: AuditSource): Plugins {
  const list = async () => {
    const settings = new Map((await store.plugins.settings()).map((row) => [row.pluginId, row]));
    const states = new Map<string, PluginState>();
    for (const report of await store.plugins.reports()) {
      const id = report.pluginId ?? report.name;
      const state = states.get(id) ?? stateOf(id, settings.get(id));
      state.reports.push(report);
      states.set(id, state);
    }
    return [...states.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  };
  const get = async (given: string) => {
    const id = nameOf('plugin id', given);
    const states = await list();
    const found = states.find((state) => state.id === id || state.reports.some(({ name }) => name === id));
    if (!found)
      throw failure('PLUGIN_NOT_FOUND', {
        plugin: id,
        known: states.map((state) => state.id).join(', ') || 'none; a worker reports its plugins when it starts',
      });
    return found;
  };
  return {
    list,
    get,
    ...createGrantCalls(store, get, by),
    ...createPluginWebhookCalls(store, get, by),
    async enable(id, given) {
      const enabled = flagOf('enabled', given);
      await store.plugins.enable((await get(id)).id, enabled, by);
    },
    async reload(id) {
      await store.plugins.reload((await get(id)).id, by);
    },
    async configure(id, given, options) {
      const config = pluginConfig(given);
      const { ifVersion } = configureOptions(options);
      const state = await get(id);
      await refuseUnfit(state, config);
      const written = await store.plugins.configure(state.id, config, by, ifVersion);
      if (written) return written.configVersion;
      const problem = `its configuration was changed by another caller (it is not version ${ifVersion} any more)`;
      throw failure('INVALID_ARGUMENT', { what: `plugin "${state.id}"`, problem, fix: `Look at it and try again: longshore plugins show ${state.id}` });
    },
  };
}

function stateOf(id: string, settings: PluginSettings | undefined): PluginState {
  const { enabled = true, config = {}, configVersion = 0, configProblem, granted = {} } = settings ?? {};
  return { id, enabled, config, configVersion, ...(configProblem !== undefined && { configProblem }), granted, reports: [] };
}

/** Refuses what the plugin's schema forbids. The workers check what depends on their environment variables. */
async function refuseUnfit({ id, reports }: PluginState, config: JsonObject): Promise<void> {
  const described = reports.filter(({ pluginId }) => pluginId !== undefined);
  if (described.length === 0) {
    const problem = 'no worker could load it yet, so the schema of its configuration is not known';
    throw failure('INVALID_ARGUMENT', { what: `plugin "${id}"`, problem, fix: `Correct it first: longshore plugins show ${id}` });
  }
  const problems = new Set((await Promise.all(described.map(({ configSchema }) => problemsAsWritten(id, configSchema, config)))).flat());
  if (problems.size === 0) return;
  throw failure('INVALID_ARGUMENT', {
    what: `configuration of plugin "${id}"`,
    problem: [...problems].join('; '),
    fix: `See its fields: longshore plugins show ${id}`,
  });
}
