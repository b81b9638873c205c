import { inTime } from '../../common/in-time.ts';
import type { PermissionBound } from '../../contracts/agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Logger } from '../../platform/log.ts';
import type { PluginSettings } from '../../store/plugin-rows.ts';
import type { Plugin } from '../api/define-plugin.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { problemOfOwnVariables } from './own-variables.ts';
import { checkBounds } from './permission-bounds.ts';
import { checkGrants } from './permission-grants.ts';
import type { Compile } from '../schemas/validate-arguments.ts';
import { prepareConfig } from './plugin-config.ts';
import { countCalls, type CountedPlugin } from './count-calls.ts';
import { pluginInvalid } from '../api/plugin-invalid.ts';

/** A running plugin. */
export interface PluginInstance extends CountedPlugin {
  config: JsonObject;
  configVersion: number;
  bounds: PermissionBound[];
}

export interface InstanceParts {
  /** Upper bounds of the plugin's permissions. */
  bounds?: PermissionBound[];
  /** What operators granted to it; everything when absent. */
  granted?: PermissionBound | undefined;
  /** Hosts that operators let it reach, for a plugin with a network of its own. Default: none. */
  network?: readonly string[];
  /** Throws if the plugin cannot run beside the others. Called again when its tools may have changed. */
  accept?: (this: void, plugin: Plugin) => void;
  environment: (name: string) => string | undefined;
  log: Logger;
  /** Compiler of JSON Schemas. To share one between plugins saves the time to make one for each. */
  compile?: Compile;
}

const HOOK_TIMEOUT_MS = 30_000;

type Hook = 'load' | 'unload' | 'updateConfig';

type Wanted = Pick<PluginSettings, 'config' | 'configVersion'>;

/**
 * Starts a plugin: checks its permissions, that it can run beside the others, its variables and its configuration, and runs its own `load`.
 * @throws PERMISSION_NOT_GRANTED, what `accept` throws, or PLUGIN_INVALID naming the variable that is missing or the wrong part of the configuration, or with what `load` threw.
 */
export async function startInstance(plugin: Plugin, { config: written, configVersion }: Wanted, parts: InstanceParts): Promise<PluginInstance> {
  const { id } = plugin;
  const { bounds = [], network = [] } = parts;
  await check(plugin, bounds, parts);
  const missing = plugin.environment.filter(({ name, required }) => required && parts.environment(name) === undefined).map(({ name }) => name);
  if (missing.length > 0) throw pluginInvalid(id, `it needs the variable ${missing.join(' and ')}, which is not set`, 'Set it for the worker');
  const prepared = await prepareConfig(id, plugin.configSchema, written, parts.environment, parts.compile);
  if ('problems' in prepared) {
    throw pluginInvalid(id, `its configuration is not usable (${prepared.problems.join('; ')})`, `Correct it: longshore plugins config ${id} --set key=value`);
  }
  const declared = plugin.environment.map(({ name }) => [name, parts.environment(name)] as const);
  const env = Object.freeze(Object.fromEntries(declared.filter((pair): pair is [string, string] => pair[1] !== undefined)));
  const log = parts.log.child({ plugin: id });
  const logger = {
    info: (message: string, values: object = {}) => log.info(values, message),
    warn: (message: string, values: object = {}) => log.warn(values, message),
  };
  await run(plugin, 'load', () => plugin.load?.({ env, config: prepared.config, logger, network }));
  // Its own `load` may have changed its tools.
  await check(plugin, bounds, parts);
  return { ...countCalls(plugin), config: prepared.config, configVersion, bounds };
}

/**
 * Gives a running plugin another configuration. Until the plugin has accepted it, its calls continue with the old one.
 * @throws as `startInstance` does; `instance` then keeps its former configuration.
 */
export async function configureInstance(instance: PluginInstance, { config: written, configVersion }: Wanted, parts: InstanceParts): Promise<void> {
  const { plugin } = instance;
  const { id, configSchema } = plugin;
  const prepared = await prepareConfig(id, configSchema, written, parts.environment, parts.compile);
  if ('problems' in prepared) throw pluginInvalid(id, `the configuration is not usable (${prepared.problems.join('; ')})`, 'The previous configuration stays');
  await run(plugin, 'updateConfig', () => plugin.updateConfig?.('self', prepared.config, String(configVersion)));
  const { tools, alerts } = plugin;
  instance.refresh();
  await check(plugin, instance.bounds, parts).catch((error: unknown) => {
    Object.assign(plugin, { tools, alerts });
    throw error;
  });
  instance.config = prepared.config;
  instance.configVersion = configVersion;
}

async function check(plugin: Plugin, bounds: PermissionBound[], { granted, accept }: InstanceParts): Promise<void> {
  const problem = problemOfOwnVariables(plugin);
  if (problem) throw problem;
  await checkBounds(plugin, bounds);
  await checkGrants(plugin, granted);
  accept?.(plugin);
}

interface Retiring {
  /** Aborts when it is to end with calls under way. */
  signal: AbortSignal;
  isEnabled: (pluginId: string) => boolean;
  log: Logger;
}

/** Ends a plugin once none of its calls is under way. One that operators have disabled reaches nothing from then on, also from what it has left running. */
export async function retireInstance(instance: PluginInstance, { signal, isEnabled, log }: Retiring): Promise<void> {
  const { plugin, drained } = instance;
  const running = await drained(signal);
  if (running > 0) log.warn({ plugin: plugin.id, running }, 'a plugin that was replaced is ended with calls under way');
  if (!isEnabled(plugin.id)) {
    await plugin.setNetwork?.([]).catch((error: unknown) => log.error({ plugin: plugin.id, err: error }, 'a disabled plugin may still reach hosts'));
  }
  await stopInstance(instance, log);
}

/** Lets a plugin clean up. */
export async function stopInstance({ plugin }: PluginInstance, log: Logger): Promise<void> {
  await run(plugin, 'unload', () => plugin.unload?.()).catch((error: unknown) => log.warn({ plugin: plugin.id, err: error }, 'a plugin failed to unload'));
}

/** A hook is code of the plugin, which may throw anything or never end. */
async function run({ id, dialect, changeTimeoutMs = HOOK_TIMEOUT_MS }: Plugin, hook: Hook, work: () => Promise<void> | undefined): Promise<void> {
  try {
    await inTime(work(), changeTimeoutMs, () => new Error(`it took longer than ${changeTimeoutMs} ms`));
  } catch (error) {
    if (isFailure(error, 'PLUGIN_INVALID')) throw error;
    throw pluginInvalid(
      id,
      `its ${dialectNamed(dialect).hookNames?.[hook] ?? hook} failed (${(error as Partial<Error> | undefined)?.message ?? String(error)})`,
      'Correct it, or what it needs',
      error,
    );
  }
}
