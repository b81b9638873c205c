import { join } from 'node:path';
import { isFailure } from '../../../contracts/errors.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { definePlugin, type Permissions, type Plugin, type PluginHost, type Tool } from '../../api/define-plugin.ts';
import { alertsOf } from '../../api/plugin-details.ts';
import type { PluginAlert, Variable } from '../../api/plugin.ts';
import { createCompiler } from '../../schemas/validate-arguments.ts';
import type { LocatedPlugin } from '../shared/plugin-dialect.ts';
import { configSchemaOf } from './config-schema.ts';
import { loadEntries, type Entry, type LoadedEntries } from './load-entries.ts';
import { readManifest, type Manifest, type ToolEntry } from './manifest.ts';
import { isFile } from '../../files/is-file.ts';
import { pluginInvalid } from '../../api/plugin-invalid.ts';

interface PandoraOptions extends LocatedPlugin {
  /** Milliseconds, for code in the worker's own process; the isolates have a limit of their own. Default 10 000. */
  resolveTimeoutMs?: number;
}

const UNRESOLVED = 'Its tools could not be resolved: ';

/**
 * Loads a plugin by its `pandora.manifest.json`. The manifest decides what the plugin may reach, whatever its code says. Tools that it resolves exist after
 * `load`, which first checks its variables and its configuration.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function loadPandora(options: PandoraOptions): Promise<Plugin> {
  const { name, root, isTrusted } = options;
  const manifest = await readManifest(name, root);
  const entries = (manifest.provides.tools ?? []).map((entry, index) => ({ ...entry, index, permissions: permissionsOf(entry, manifest) }));
  for (const { entry, sandbox } of entries) {
    if (!(await isFile(join(root, entry)))) throw pluginInvalid(name, `its entry ${entry} does not exist`, 'Correct provides.tools of the manifest');
    if (sandbox === 'host' && !isTrusted)
      throw pluginInvalid(name, `its entry ${entry} asks for the worker's own process`, 'If you trust it, name it in LONGSHORE_HOST_PLUGINS');
  }
  /** Whether tools ask for approval, from the configuration. */
  const overrides = new Map<string, boolean>();
  const settle = ({ entry: index, id }: JsonObject): Partial<Tool> => {
    const entry = entries.find((each) => each.index === index);
    return { permissions: entry?.permissions ?? {}, requireApproval: overrides.get(typeof id === 'string' ? id : '') ?? entry?.requireApproval };
  };
  const parts = await loadEntries({ ...options, id: manifest.id, settle }, entries);
  return composed({ options, manifest, entries, parts, overrides });
}

/** Code in the worker's own process can read the whole environment. Elsewhere each variable must be granted. */
function permissionsOf({ sandbox, permissions }: ToolEntry, { envVars }: Manifest): Permissions {
  const { time, network, env = [], fs, random } = permissions;
  const names = sandbox === 'host' ? [...new Set([...env, ...envVars.map(({ name }) => name)])] : env;
  return { ...(time && { time }), ...(random && { random }), ...(network && { network }), ...(fs && { fs }), env: names };
}

interface Whole {
  options: PandoraOptions;
  manifest: Manifest;
  entries: Entry[];
  parts: LoadedEntries[];
  overrides: Map<string, boolean>;
}

function composed({ options: { name }, manifest, entries, parts, overrides }: Whole): Plugin {
  const { id, version, description } = manifest;
  const configSchema = configSchemaOf(manifest.configFields);
  let host: PluginHost | undefined;
  const define = (alerts: PluginAlert[]): Plugin =>
    definePlugin({
      id,
      ...(version !== undefined && { version }),
      description: description ?? manifest.name,
      dialect: 'pandora',
      environment: variablesOf(manifest, entries),
      configSchema,
      alerts: [...alertsOf(manifestAlerts(manifest, entries)), ...alerts],
      tools: parts.flatMap(({ tools }) => tools).map((tool) => withVariables(tool, () => host?.env)),
      load,
      updateConfig: async (scope, data) => {
        if (scope === 'self' && host) await load({ ...host, config: data });
      },
    });
  const problemsOf = createCompiler()(id, 'config', 'configuration', configSchema);
  const load = async (given: PluginHost): Promise<void> => {
    const problems = [...missingVariables(manifest, given), ...(await problemsOf(given.config)).map((problem) => `its configuration: ${problem}`)];
    if (problems.length > 0) throw pluginInvalid(name, problems.join('; '), 'Set what is missing, then load it again');
    const before = [...overrides];
    setOverrides(overrides, Object.entries((given.config['requireApproval'] ?? {}) as Record<string, boolean>));
    try {
      for (const part of parts) await part.load?.(given);
      const { tools, alerts } = define([...parts.flatMap((part) => part.alerts), ...alertsOf(strayOverrides(overrides, parts))]);
      Object.assign(plugin, { tools: tools.map((tool) => ({ ...tool, requireApproval: overrides.get(tool.id) ?? tool.requireApproval })), alerts });
      host = given;
    } catch (error) {
      setOverrides(overrides, before);
      const why = reasonOf(error);
      plugin.alerts = [...plugin.alerts.filter(({ text }) => !text.startsWith(UNRESOLVED)), ...alertsOf([{ level: 'error', text: `${UNRESOLVED}${why}` }])];
      throw pluginInvalid(name, `its tools could not be resolved (${why})`, 'The previous ones stay; correct resolveTools or its configuration', error);
    }
  };
  const isAsleep = () => parts.length > 0 && parts.every((part) => part.isAsleep?.() === true);
  const plugin = Object.assign(define(parts.flatMap(({ alerts }) => alerts)), { isAsleep });
  return plugin;
}

/** Calls receive the variables with the values that these had when the plugin was loaded. */
function withVariables(tool: Tool, loaded: () => PluginHost['env'] | undefined): Tool {
  const { env: names = [] } = tool.permissions;
  const pick = (env: PluginHost['env']) => Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
  return { ...tool, execute: (input, context) => tool.execute(input, { ...context, env: pick(loaded() ?? context.env) }) };
}

function setOverrides(overrides: Map<string, boolean>, values: [string, boolean][]): void {
  overrides.clear();
  for (const [tool, asks] of values) overrides.set(tool, asks);
}

/** A misspelled name would leave a tool without the approval that an operator wants for it. */
function strayOverrides(overrides: ReadonlyMap<string, boolean>, parts: LoadedEntries[]): { level: string; text: string }[] {
  const ids = parts.flatMap(({ tools }) => tools).map(({ id }) => id);
  const stray = [...overrides.keys()].filter((id) => !ids.includes(id));
  return stray.map((id) => ({ level: 'warning', text: `requireApproval of its configuration names "${id}", which is none of its tools.` }));
}

function reasonOf(error: unknown): string {
  const { problem } = isFailure(error, 'PLUGIN_INVALID') ? error.values : {};
  return problem === undefined ? (error as Error).message : String(problem);
}

/** Variables are granted to each tool by its permissions. With `byPermission`, a variable that is only declared is given to no tool. */
function variablesOf({ envVars }: Manifest, entries: Entry[]): Variable[] {
  const declared = new Map(envVars.map(({ name }) => [name, envVars.some((each) => each.name === name && each.required)]));
  for (const name of entries.flatMap(({ permissions: { env = [] } }) => env)) declared.set(name, declared.get(name) ?? false);
  return [...declared].map(([name, required]) => ({ name, required, byPermission: true }));
}

function missingVariables({ envVars }: Manifest, { env }: PluginHost): string[] {
  return envVars.filter(({ name, required }) => required && !env[name]).map(({ name }) => `the variable ${name} is not set`);
}

function manifestAlerts({ provides, envVars }: Manifest, entries: Entry[]): { level: string; text: string }[] {
  const left = (['channels', 'agents'] as const).filter((kind) => provides[kind] !== undefined);
  const seen = new Set(entries.flatMap(({ permissions: { env = [] } }) => env));
  return [
    ...left.map((kind) => ({ level: 'warning', text: `Its ${kind} are not loaded; only its tools are.` })),
    ...[...new Set(envVars.map(({ name }) => name))]
      .filter((name) => !seen.has(name))
      .map((name) => ({ level: 'warning', text: `No tool sees the variable ${name}: it is in envVars, but in no entry's permissions.env.` })),
  ];
}
