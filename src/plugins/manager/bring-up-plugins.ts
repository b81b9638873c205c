import { failure } from '../../contracts/errors.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { refuseSharedNames } from './bare-names.ts';
import type { Household, ManagedSource } from './household.ts';
import { loadOrder } from './load-order.ts';
import { boundsOf } from './permission-bounds.ts';
import { grantCommand, grantedTo, networkOf, permissionsIn, ungrantedOf } from './permission-grants.ts';
import { permissionsOf } from './permissions-of.ts';
import { startInstance, stopInstance, type PluginInstance } from './plugin-instance.ts';
import { loadSource, type LoadedSource, type PluginSource } from './plugin-source.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

/** A source that is being brought up: first it is loaded, then its plugins are started one by one. */
interface Candidate {
  managed: ManagedSource;
  loaded: LoadedSource;
  instances: PluginInstance[];
  problems: ManagedSource['problems'];
}

interface Item {
  plugin: Plugin;
  candidate: Candidate;
}

/** Number of sources that are loaded at the same time. */
const AT_ONCE = 4;

/**
 * Loads sources and starts their plugins in the order of their dependencies, and otherwise of their ids: of two plugins with the same bare name, the same
 * one is refused whichever source agents name first. A source that runs is replaced only by a new version without problems. Of a source that does not run,
 * every plugin that can run is started.
 */
export async function bringUpPlugins(household: Household, sources: ManagedSource[], { again = false } = {}): Promise<void> {
  const candidates = await loadAll(household, sources, again);
  const others = household.sources.filter((managed) => !sources.includes(managed));
  const present = new Set([...household.builtins, ...others.flatMap(({ instances }) => instances.map(({ plugin }) => plugin))].map(({ id }) => id));
  const items = candidates.flatMap((candidate) => candidate.loaded.plugins.map((plugin): Item => ({ plugin, candidate })));
  const enabled = items.filter(({ plugin }) => household.isEnabled(plugin.id));
  const { distinct, colliding } = withoutCollisions(enabled, household, others);
  for (const [item, error] of colliding) blame(item, error);
  const sorted = distinct.toSorted((a, b) => (a.plugin.id < b.plugin.id ? -1 : 1));
  const { ordered, problems } = loadOrder(sorted, new Set([...present].filter((id) => household.isEnabled(id))));
  for (const [item, problem] of problems) blame(item, pluginInvalid(item.plugin.id, problem, 'Correct that one first'));
  for (const item of ordered) {
    const started = await start(household, item, { present, candidates });
    if (started) present.add(item.plugin.id);
  }
  for (const candidate of candidates) await settle(household, candidate);
}

async function loadAll({ options, register }: Household, sources: ManagedSource[], again: boolean): Promise<Candidate[]> {
  const { directory, hostPlugins, isolates, sandboxes, log } = options;
  const waiting = [...sources.entries()];
  const candidates: (Candidate | undefined)[] = sources.map(() => undefined);
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, managed] = next;
      try {
        const loaded = await loadSource(managed.source, { directory, hostPlugins, isolates, sandboxes, again, register });
        candidates[index] = { managed, loaded, instances: [], problems: loaded.problems.map((error) => ({ error })) };
        managed.described = loaded.plugins;
        managed.ids = loaded.plugins.map(({ id }) => id);
      } catch (error) {
        managed.problems = [{ error: error as Error }];
        log.error(
          { plugin: managed.source.name, err: error },
          managed.loaded ? 'a new version of a plugin could not be loaded; the old one stays' : 'a plugin could not be loaded',
        );
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return candidates.filter((candidate) => candidate !== undefined);
}

function withoutCollisions(items: Item[], { builtins }: Household, others: ManagedSource[]): { distinct: Item[]; colliding: Map<Item, Error> } {
  const taken = new Map(builtins.map(({ id }) => [id, 'a built-in plugin']));
  for (const { source, instances } of others) for (const { plugin } of instances) taken.set(plugin.id, source.name);
  const colliding = new Map<Item, Error>();
  for (const item of items) {
    const { id } = item.plugin;
    const { name } = item.candidate.managed.source;
    const first = taken.get(id);
    if (first === undefined) taken.set(id, name);
    else colliding.set(item, failure('PLUGIN_COLLISION', { id, first, second: name }));
  }
  return { distinct: items.filter((item) => !colliding.has(item)), colliding };
}

/** Checks the dependencies again: one may have failed after the order was made. */
async function start(household: Household, item: Item, { present, candidates }: { present: ReadonlySet<string>; candidates: Candidate[] }): Promise<boolean> {
  const { options, settings, compile, register } = household;
  const { plugin, candidate } = item;
  const missing = (plugin.dependencies ?? []).find((id) => !present.has(id));
  try {
    if (missing !== undefined) throw pluginInvalid(plugin.id, `it depends on the plugin "${missing}", which cannot be loaded`, 'Correct that one first');
    const { config = {}, configVersion = 0 } = settings.get(plugin.id) ?? {};
    const { source } = candidate.managed;
    const granted = options.requireGrants ? grantedTo(household, source, plugin.id) : undefined;
    const network = networkOf(household, source, plugin.id);
    const accept = (current: Plugin) => refuseSharedNames(household, candidate.managed, current, candidates);
    const instance = await startInstance(plugin, { config, configVersion }, { ...options, compile, granted, network, accept, bounds: boundsOf(source.pins) });
    candidate.instances.push(instance);
    // Its own `load` may have changed its tools.
    for (const tool of register(instance.plugin)) await tool.compiled();
    if (!options.requireGrants) await tellUngranted(household, source, plugin);
    return true;
  } catch (error) {
    blame(item, error as Error);
    return false;
  }
}

/** Logs what production would refuse, for people who try a plugin out. */
async function tellUngranted(household: Household, source: PluginSource, plugin: Plugin): Promise<void> {
  const missing = await ungrantedOf(plugin, grantedTo(household, source, plugin.id));
  if (missing.length === 0) return;
  household.options.log.warn(
    { plugin: plugin.id, ungranted: permissionsIn(missing), grant: grantCommand(plugin.id, missing) },
    'a plugin has permissions that no operator granted; with NODE_ENV=production it would not be loaded',
  );
}

function blame({ plugin, candidate }: Item, error: Error): void {
  candidate.problems.push({ pluginId: plugin.id, error });
}

/** Puts a candidate in the place of its source's current version, or discards it where the current version must stay. */
async function settle(household: Household, { managed, loaded, instances, problems }: Candidate): Promise<void> {
  const { log, hostPlugins } = household.options;
  const { instances: former, loaded: formerLoaded } = managed;
  for (const { pluginId, error } of problems) log.error({ plugin: pluginId ?? managed.source.name, err: error }, 'a plugin cannot work');
  managed.problems = problems;
  if (problems.length > 0 && former.some(({ plugin }) => household.isEnabled(plugin.id))) {
    log.warn({ plugin: managed.source.name }, 'the old version of a plugin stays');
    return discard(household, instances, loaded);
  }
  managed.instances = instances;
  managed.loaded = loaded;
  try {
    household.publish();
  } catch (error) {
    managed.problems = [...problems, { error: error as Error }];
    managed.instances = former;
    if (formerLoaded) managed.loaded = formerLoaded;
    else delete managed.loaded;
    return discard(household, instances, loaded);
  }
  if (hostPlugins.includes(managed.source.name))
    log.warn({ plugin: managed.source.name }, "a plugin runs in the worker's own process, as LONGSHORE_HOST_PLUGINS says");
  if (instances.length > 0) log.info({ source: managed.source.name, plugins: instances.map(({ plugin }) => describe(plugin)) }, 'plugins loaded');
  household.retire(former, formerLoaded);
  // Without a running plugin the source needs no process.
  if (instances.length > 0) return;
  delete managed.loaded;
  await loaded[Symbol.asyncDispose]();
}

async function discard({ options }: Household, instances: PluginInstance[], loaded: LoadedSource): Promise<void> {
  for (const instance of instances) await stopInstance(instance, options.log);
  await loaded[Symbol.asyncDispose]();
}

function describe({ id, version, tools, environment }: Plugin): object {
  return { id, version, tools: tools.length, permissions: permissionsOf(tools, environment) };
}
