import { abortAfter } from '../../common/abort-after.ts';
import { createTurns } from '../../common/turns.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { PluginSettings } from '../../store/plugin-rows.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { createRegistrar, createRegistry, type NotAtWork, type Registry } from '../registry/registry.ts';
import { applyChanges, grantsOf } from './apply-changes.ts';
import { applyNetwork } from './apply-network.ts';
import { isFreed, refuseSharedNames } from './bare-names.ts';
import { bringUpPlugins } from './bring-up-plugins.ts';
import { idsOf, type Household, type ManagedSource } from './household.ts';
import { createLiveRegistry } from './live-registry.ts';
import type { ManagerOptions } from './manager-options.ts';
import { configureInstance, retireInstance, type PluginInstance } from './plugin-instance.ts';
import { grantedTo, ungrantedOf } from './permission-grants.ts';
import type { LoadedSource } from './plugin-source.ts';
import { createReporter } from './report-plugins.ts';
import { createCompiler } from '../schemas/validate-arguments.ts';

/** The plugins of a worker, which are added, changed and removed while it runs. */
export interface PluginManager extends AsyncDisposable {
  /** Answers for what is loaded at the moment of the question. */
  registry: Registry;
  configOf(pluginId: string): JsonObject;
  /** Whether operators have enabled a plugin. */
  isEnabled(pluginId: string): boolean;
  /**
   * Loads a source again, by the name that agents use. Calls that are under way finish with the version that they began with. When the new version cannot be
   * loaded, the old one continues to run, and the error is in the reports and the log.
   */
  reload(name: string): Promise<void>;
  /** Applies what operators have changed in the settings since the last time. */
  follow(): Promise<void>;
  /**
   * Adds plugins that have another owner, such as MCP servers, or replaces those of the same ids; `refused` are reported as failed.
   * @throws as `createRegistry` does; then nothing has changed
   */
  provide(plugins: Plugin[], refused?: Household['refused']): void;
}

const DRAIN_MS = 3_600_000;
const TELL_MS = 30_000;

/** Loads all sources and keeps them as the settings require. A source that fails is reported and does not stop the others. */
export async function openPluginManager(options: ManagerOptions): Promise<PluginManager> {
  const manager = new Manager(options);
  await manager.start();
  return manager;
}

class Manager implements PluginManager, Household {
  readonly registry;
  readonly sources: ManagedSource[];
  readonly options: ManagerOptions;
  settings = new Map<string, PluginSettings>();
  /** Settings that have taken effect. */
  private applied = new Map<string, PluginSettings>();
  builtins: Plugin[] = [];
  refused: Household['refused'] = [];
  readonly compile = createCompiler();
  readonly register = createRegistrar(this.compile);
  private readonly closing = new AbortController();
  private readonly retiring = new Set<Promise<void>>();
  private readonly report;
  /** Until then the registry is not complete. */
  private started = false;
  /** Changes run one after the other. */
  private readonly turns = createTurns();
  private following: Promise<void> = Promise.resolve();
  private unfollow = () => {};
  private toldAt = -Infinity;

  constructor(options: ManagerOptions) {
    this.options = options;
    this.sources = options.sources.map((source) => ({ source, ids: [], instances: [], problems: [] }));
    this.report = createReporter({ ...options, household: this });
    this.registry = createLiveRegistry(createRegistry([]));
  }

  async start(): Promise<void> {
    const { store, builtins, log } = this.options;
    await store.forget(
      this.options.hostId,
      this.options.sources.map(({ name }) => name),
    );
    await this.readSettings();
    this.builtins = builtins(this.registry);
    this.publish();
    await bringUpPlugins(this, this.sources);
    this.applied = new Map(this.settings);
    this.started = true;
    await this.report();
    this.unfollow = this.options.isolates?.follow(() => void this.inTurn(() => this.report())) ?? this.unfollow;
    this.following = this.followSettings().catch((error: unknown) => log.error({ err: error }, 'changes of plugin settings are no longer noticed'));
  }

  configOf(pluginId: string): JsonObject {
    return this.instanceOf(pluginId)?.config ?? {};
  }

  reload(name: string): Promise<void> {
    return this.inTurn(() => this.bringAgain(this.sources.filter(({ source }) => source.name === name)));
  }

  follow(): Promise<void> {
    return this.inTurn(async () => {
      await this.readSettings();
      try {
        await applyChanges(this.applied, this.settings, (before, now) => this.obey(before, now));
      } finally {
        await this.bringUpFreed();
        await this.report();
      }
    });
  }

  provide(plugins: Plugin[], refused: Household['refused'] = this.refused): void {
    const before = this.builtins;
    const ids = new Set(plugins.map(({ id }) => id));
    this.builtins = [...before.filter(({ id }) => !ids.has(id)), ...plugins];
    try {
      this.publish();
    } catch (error) {
      this.builtins = before;
      throw error;
    }
    this.refused = refused;
    // The settings may have changed since these plugins read them.
    for (const plugin of plugins) plugin.setEnabled?.(this.isEnabled(plugin.id));
    void this.inTurn(() => this.report());
  }

  isEnabled(pluginId: string): boolean {
    return this.settings.get(pluginId)?.enabled ?? true;
  }

  /** Puts what is loaded and enabled into the registry. @throws PLUGIN_COLLISION; then the registry is unchanged. */
  publish(): void {
    const plugins = [...this.builtins, ...this.sources.flatMap(({ instances }) => instances.map(({ plugin }) => plugin))];
    const disabled = [...this.settings.values()].filter(({ enabled }) => !enabled).map(({ pluginId }) => pluginId);
    this.registry.replace(
      createRegistry(
        plugins.filter(({ id }) => this.isEnabled(id)),
        { register: this.register, disabled, notAtWork: () => this.notAtWork() },
      ),
    );
    if (this.started) this.options.onChange?.(this.registry);
  }

  /** Ends plugins once none of their calls is under way, or after `drainMs`. Does not wait for that. */
  retire(instances: PluginInstance[], loaded: LoadedSource | undefined): void {
    const { log, drainMs = DRAIN_MS } = this.options;
    const signal = abortAfter(drainMs, this.closing.signal);
    const end = async () => {
      for (const instance of instances) await retireInstance(instance, { signal, isEnabled: (id) => this.isEnabled(id), log });
      await loaded?.[Symbol.asyncDispose]();
    };
    const ending = end()
      .catch((error: unknown) => log.warn({ err: error }, 'a plugin that was replaced did not end'))
      .finally(() => this.retiring.delete(ending));
    this.retiring.add(ending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closing.abort();
    this.unfollow();
    await this.following;
    await this.inTurn(() => Promise.resolve());
    for (const { instances, loaded } of this.sources.toReversed()) this.retire(instances.toReversed(), loaded);
    await Promise.all(this.retiring);
  }

  private notAtWork(): NotAtWork[] {
    const all = this.sources.flatMap(({ source, ids, problems }) =>
      problems.map(({ pluginId, error }) => ({ source: source.name, ids: pluginId === undefined ? ids : [pluginId], problem: error.message })),
    );
    return all.filter(({ ids }) => ids.length === 0 || ids.some((id) => this.isEnabled(id)));
  }

  private instanceOf(pluginId: string): PluginInstance | undefined {
    return this.sources.flatMap(({ instances }) => instances).find(({ plugin }) => plugin.id === pluginId);
  }

  private async bringAgain(sources: ManagedSource[]): Promise<void> {
    await bringUpPlugins(this, sources, { again: true });
    await this.bringUpFreed();
    await this.report();
  }

  /** Tries plugins again that were refused for the name of a method, when it is free. Each source once, since it may be refused for something else. */
  private async bringUpFreed(): Promise<void> {
    const tried = new Set<ManagedSource>();
    const freed = () => this.sources.filter((managed) => !tried.has(managed) && isFreed(this, managed));
    for (let sources = freed(); sources.length > 0; sources = freed()) {
      for (const managed of sources) tried.add(managed);
      await bringUpPlugins(this, this.withWaiting(sources), { again: true });
    }
  }

  private async obey(before: PluginSettings | undefined, now: PluginSettings): Promise<void> {
    const named = this.sources.filter((managed) => managed.source.name === now.pluginId || idsOf(managed).includes(now.pluginId));
    const isRegranted = grantsOf(before) !== grantsOf(now);
    // First removes a plugin that uses a revoked permission, whatever else changes for the plugin.
    if (isRegranted) for (const managed of named) await this.withdraw(managed, now.pluginId);
    const failure = isRegranted ? await applyNetwork(this, now.pluginId) : undefined;
    await this.takeOver(named, before, now, isRegranted);
    // Then all of it is done again.
    if (failure !== undefined) throw failure;
  }

  private async takeOver(named: ManagedSource[], before: PluginSettings | undefined, now: PluginSettings, isRegranted: boolean): Promise<void> {
    const isReload = (before?.reloads ?? 0) !== now.reloads;
    if (isReload || (before?.enabled ?? true) !== now.enabled) {
      this.options.log.info({ plugin: now.pluginId, enabled: now.enabled }, 'a plugin is changed because its settings have changed');
      // At once, even where the plugin cannot be loaded.
      this.publish();
      this.tellServer(now, isReload);
      return bringUpPlugins(this, now.enabled ? this.withWaiting(named) : named, { again: true });
    }
    return this.adjust(named, now, isRegranted);
  }

  /** Applies another configuration or other grants. */
  private async adjust(named: ManagedSource[], now: PluginSettings, isRegranted: boolean): Promise<void> {
    const isRefused = isRegranted && named.some(({ problems }) => problems.length > 0);
    // The plugin, or a newer version of it, may have been refused because of its configuration or of a missing grant.
    if (isRefused || !this.instanceOf(now.pluginId)) await bringUpPlugins(this, this.withWaiting(named), { again: true });
    const instance = this.instanceOf(now.pluginId);
    if (instance && instance.configVersion !== now.configVersion) await this.configure(instance, now);
  }

  /** Adds the sources that have problems and dependencies: a missing dependency may be the cause. */
  private withWaiting(named: ManagedSource[]): ManagedSource[] {
    const waits = ({ problems, described = [] }: ManagedSource) => problems.length > 0 && described.some(({ dependencies = [] }) => dependencies.length > 0);
    return this.sources.filter((managed) => named.includes(managed) || waits(managed));
  }

  /** Removes a plugin from the agents when it has a permission that is no longer granted. Calls that are under way may finish. */
  private async withdraw(managed: ManagedSource, pluginId: string): Promise<void> {
    const instance = managed.instances.find(({ plugin }) => plugin.id === pluginId);
    if (!instance || !this.options.requireGrants) return;
    if ((await ungrantedOf(instance.plugin, grantedTo(this, managed.source, pluginId))).length === 0) return;
    const { loaded } = managed;
    managed.instances = managed.instances.filter((other) => other !== instance);
    const isLast = managed.instances.length === 0;
    if (isLast) delete managed.loaded;
    this.publish();
    this.retire([instance], isLast ? loaded : undefined);
    this.options.log.warn({ plugin: pluginId }, 'a permission of a plugin was revoked; it is taken away');
  }

  /** Notifies a plugin that has another owner, such as an MCP server. */
  private tellServer({ pluginId, enabled }: PluginSettings, isReload: boolean): void {
    const server = this.builtins.find(({ id }) => id === pluginId);
    server?.setEnabled?.(enabled);
    if (isReload) server?.restart?.();
  }

  private async configure(instance: PluginInstance, now: PluginSettings): Promise<void> {
    const { log, store, requireGrants } = this.options;
    const managed = this.sources.find(({ instances }) => instances.includes(instance));
    const granted = managed && requireGrants ? grantedTo(this, managed.source, now.pluginId) : undefined;
    const accept = (plugin: Plugin) => managed && refuseSharedNames(this, managed, plugin);
    try {
      await configureInstance(instance, now, { ...this.options, compile: this.compile, granted, accept });
      this.publish();
      log.info({ plugin: now.pluginId, configVersion: now.configVersion }, 'a plugin works with another configuration');
    } catch (error) {
      log.error({ plugin: now.pluginId, configVersion: now.configVersion, err: error }, 'a plugin refused its configuration');
      await store.takeBackConfig(now.pluginId, now.configVersion, (error as Error).message);
    }
  }

  private async readSettings(): Promise<void> {
    this.settings = new Map((await this.options.store.settings()).map((settings) => [settings.pluginId, settings]));
  }

  private async followSettings(): Promise<void> {
    for await (const _ of this.options.store.follow(this.closing.signal)) {
      await this.follow()
        .then(() => this.tellOfUs())
        .catch((error: unknown) => this.options.log.warn({ err: error }, 'the settings of plugins could not be read'));
    }
  }

  /** Reports are written only when something changes, so the worker also reports at intervals that it runs. */
  private async tellOfUs(): Promise<void> {
    if (performance.now() - this.toldAt < TELL_MS) return;
    this.toldAt = performance.now();
    await this.options.store.stillHere(this.options.hostId);
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.turns.inTurn(work);
  }
}
