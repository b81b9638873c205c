import type { PluginReport } from '../../store/plugin-rows.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { Household, ManagedSource } from './household.ts';
import type { ManagerOptions } from './manager-options.ts';
import { grantedTo, permissionsIn, ungrantedOf } from './permission-grants.ts';
import { permissionsOf } from './permissions-of.ts';

type Parts = Pick<ManagerOptions, 'store' | 'hostId' | 'log'> & { household: Household };

/** Writes the state of the plugins to the store where it has changed since the last call. */
export function createReporter({ store, hostId, log, household }: Parts): () => Promise<void> {
  const written = new Map<string, string>();
  return async () => {
    const ofSources = await Promise.all(household.sources.map((managed) => reportsOf(managed, household)));
    const reports = [...ofSources.flat(), ...serverReports(household)];
    try {
      const names = reports.map(({ name }) => name);
      if ([...written.keys()].some((name) => !names.includes(name))) await store.forget(hostId, names);
      for (const name of written.keys()) if (!names.includes(name)) written.delete(name);
      for (const report of reports) {
        const text = JSON.stringify(report);
        if (written.get(report.name) === text) continue;
        await store.report(hostId, report);
        written.set(report.name, text);
      }
    } catch (error) {
      log.warn({ err: error }, 'the state of plugins could not be stored');
    }
  };
}

/** One report for each plugin of a source; one for the source where its plugins are not known. */
async function reportsOf(managed: ManagedSource, household: Household): Promise<PluginReport[]> {
  const { source, described = [], instances, problems } = managed;
  const atWork = instances.map(({ plugin }) => plugin);
  const absent = described.filter(({ id }) => !atWork.some((plugin) => plugin.id === id));
  const plugins = [...atWork, ...absent];
  if (plugins.length === 0) {
    const errors = problems.map(({ error }) => error);
    return [failedReport(source.name, errors)];
  }
  const reports = plugins.map(async (plugin): Promise<PluginReport> => {
    const errors = problems.filter(({ pluginId = plugin.id }) => pluginId === plugin.id).map(({ error }) => error);
    const name = plugins.length === 1 ? source.name : `${source.name}#${plugin.id}`;
    const ungranted = await ungrantedIn(described.find(({ id }) => id === plugin.id) ?? plugin, managed, household);
    return { name, ...factsOf(plugin, instances), ...ungranted, health: healthOf(plugin, household, atWork), ...errorOf(errors) };
  });
  return Promise.all(reports);
}

async function ungrantedIn(plugin: Plugin, { source }: ManagedSource, household: Household): Promise<Pick<PluginReport, 'ungranted' | 'denied'>> {
  const missing = await ungrantedOf(plugin, grantedTo(household, source, plugin.id));
  if (missing.length === 0) return {};
  return { ungranted: permissionsIn(missing), ...(household.options.requireGrants && { denied: true as const }) };
}

/** The report of a source or server whose plugins are not known. */
function failedReport(name: string, errors: Error[]): PluginReport {
  return { name, health: 'failed', tools: [], permissions: {}, alerts: [], ...errorOf(errors) };
}

/** MCP servers maintain themselves and report their own problems. */
function serverReports(household: Household): PluginReport[] {
  const servers = household.builtins.filter(({ dialect }) => dialectNamed(dialect).isServer);
  const refused = new Map(household.refused.map(({ name, error }) => [name, failedReport(name, [error])]));
  const known = servers.map((plugin): PluginReport => {
    const works = servers.filter(({ problem }) => problem === undefined);
    const error = plugin.problem === undefined ? {} : { error: plugin.problem };
    return { name: `mcp:${plugin.id}`, ...factsOf(plugin, []), health: healthOf(plugin, household, works), ...error };
  });
  for (const { name } of known) refused.delete(name);
  return [...known, ...refused.values()];
}

function healthOf({ id }: Plugin, household: Household, atWork: Plugin[]): PluginReport['health'] {
  if (!household.isEnabled(id)) return 'disabled';
  return atWork.some((plugin) => plugin.id === id) ? 'loaded' : 'failed';
}

function factsOf(plugin: Plugin, instances: ManagedSource['instances']): Omit<PluginReport, 'name' | 'health'> {
  const { id, version, dialect, description, tools, environment, alerts, configSchema } = plugin;
  const webhooks = tools.flatMap(({ webhook }) => webhook ?? []);
  const instance = instances.find((candidate) => candidate.plugin === plugin);
  return {
    pluginId: id,
    version,
    dialect,
    description,
    tools: tools.map((tool) => tool.id),
    permissions: permissionsOf(tools, environment),
    alerts,
    ...(webhooks.length > 0 && { webhooks }),
    ...(configSchema && { configSchema }),
    ...(instance && { configVersion: instance.configVersion }),
    ...(instance && plugin.isAsleep?.() && { asleep: true as const }),
  };
}

function errorOf(errors: Error[]): { error?: string } {
  return errors.length > 0 ? { error: errors.map(({ message }) => message).join('\n') } : {};
}
