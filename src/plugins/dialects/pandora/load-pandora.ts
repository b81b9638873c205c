import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { failure } from '../../../contracts/errors.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { definePlugin, type Permissions, type Plugin, type PluginHost, type Tool } from '../../define-plugin.ts';
import { bundlePlugin } from '../../isolates/bundle-plugin.ts';
import type { Isolates } from '../../isolates/load-isolated.ts';
import { alertsOf, type PluginAlert, type Variable } from '../../plugin-details.ts';
import { createCompiler } from '../../validate-arguments.ts';
import { adaptEntries, type AdaptedEntries } from './adapt-tools.ts';
import { configSchemaOf } from './config-schema.ts';
import { readManifest, type Manifest, type ToolEntry } from './manifest.ts';

export interface PandoraOptions {
  /** As the agent names it. */
  name: string;
  /** Its directory. */
  root: string;
  isolates: Isolates | undefined;
  /** The operator lets it use the worker's own process. */
  trusted: boolean;
  /** For code in the worker's own process; the isolates have their own. Default 10 000. */
  resolveTimeoutMs?: number;
}

/** An entry of the manifest with its place there and what its tools are granted. */
interface Entry extends ToolEntry {
  index: number;
  permissions: Permissions;
}

/** The tools of some entries; `tools` and `alerts` are read again after `load`. */
type Part = Pick<Plugin, 'tools' | 'alerts' | 'load' | 'isAsleep'>;

const ADAPTER = fileURLToPath(new URL(`./adapt-tools${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
const RESOLVE_TIMEOUT_MS = 10_000;
const UNRESOLVED = 'Its tools could not be resolved: ';

/**
 * Loads a plugin by its `pandora.manifest.json`. What it may reach is what the manifest says, whatever its code says. Tools that it resolves are there after
 * `load`, which checks its variables and its configuration first.
 * @throws PLUGIN_INVALID naming the plugin, the problem and the fix.
 */
export async function loadPandora(options: PandoraOptions): Promise<Plugin> {
  const { name, root, trusted } = options;
  const manifest = await readManifest(name, root);
  const entries = (manifest.provides.tools ?? []).map((entry, index) => ({ ...entry, index, permissions: permissionsOf(entry, manifest) }));
  for (const { entry, sandbox } of entries) {
    if (!(await isFile(join(root, entry)))) throw invalid(name, `its entry ${entry} is not there`, 'Mend provides.tools of the manifest');
    if (sandbox === 'host' && !trusted)
      throw invalid(name, `its entry ${entry} wants the worker's own process`, 'If you trust it, name it in LONGSHORE_HOST_PLUGINS');
  }
  /** Whether tools ask for approval, as the configuration says. */
  const overrides = new Map<string, boolean>();
  const settle = ({ entry: index, id }: JsonObject): Partial<Tool> => {
    const entry = entries.find((each) => each.index === index);
    return { permissions: entry?.permissions ?? {}, requireApproval: overrides.get(typeof id === 'string' ? id : '') ?? entry?.requireApproval };
  };
  const parts = await loadParts({ ...options, id: manifest.id }, entries, settle);
  return composed({ options, manifest, entries, parts, overrides });
}

/** In the worker's own process its environment is open to the code anyway; elsewhere each variable has to be granted. */
function permissionsOf({ sandbox, permissions }: ToolEntry, { envVars }: Manifest): Permissions {
  const { time, network, env = [], fs, random } = permissions;
  const names = sandbox === 'host' ? [...new Set([...env, ...envVars.map(({ name }) => name)])] : env;
  return { ...(time && { time }), ...(random && { random }), ...(network && { network }), ...(fs && { fs }), env: names };
}

interface Loading extends PandoraOptions {
  /** Of the plugin. */
  id: string;
}

type Settle = (described: JsonObject) => Partial<Tool>;

async function loadParts(options: Loading, entries: Entry[], settle: Settle): Promise<Part[]> {
  const fenced = entries.filter(({ sandbox }) => sandbox === 'compartment');
  const open = entries.filter(({ sandbox }) => sandbox === 'host');
  return [
    ...(open.length > 0 ? [await importEntries(options, open, settle)] : []),
    ...(fenced.length > 0 ? [await isolateEntries(options, fenced, settle)] : []),
  ];
}

async function isolateEntries({ name, root, isolates, id }: Loading, entries: Entry[], settle: Settle): Promise<Part> {
  if (!isolates) throw invalid(name, 'this process fences no plugins', 'Load it in a worker');
  const bundle = await bundlePlugin(name, join(root, entries[0]?.entry ?? ''), wrapperOf(root, entries));
  const granted = entries.map(({ permissions }) => permissions);
  const permissions = { time: granted.some(({ time }) => time), random: granted.some(({ random }) => random) };
  try {
    return await isolates.load({ name, ...bundle, permissions, defaults: { id }, settle });
  } catch (error) {
    throw told(name, error);
  }
}

/** A module that gives the tools of all entries as one plugin. */
function wrapperOf(root: string, entries: Entry[]): string {
  const imports = entries.map(({ entry }, at) => `import * as entry${at} from ${JSON.stringify(join(root, entry))};`);
  const modules = entries.map(
    ({ index, entry, permissions }, at) =>
      `{ entry: ${index}, path: ${JSON.stringify(entry)}, permissions: ${JSON.stringify(permissions)}, exports: entry${at} }`,
  );
  return `import { adaptEntries } from ${JSON.stringify(ADAPTER)};\n${imports.join('\n')}\nexport default adaptEntries([${modules.join(', ')}]);\n`;
}

async function importEntries({ name, root, resolveTimeoutMs = RESOLVE_TIMEOUT_MS }: PandoraOptions, entries: Entry[], settle: Settle): Promise<Part> {
  const modules = await Promise.all(
    entries.map(async ({ entry, index, permissions }) => ({ entry: index, path: entry, permissions, exports: await importModule(name, join(root, entry)) })),
  );
  const toolsOf = ({ tools }: Pick<AdaptedEntries, 'tools'>) =>
    tools.map((tool) => ({ ...(tool as unknown as Tool), ...settle(tool), isolation: 'host' as const }));
  let adapted: AdaptedEntries;
  try {
    adapted = adaptEntries(modules);
  } catch (error) {
    throw told(name, error);
  }
  const { load } = adapted;
  const part: Part = { tools: toolsOf(adapted), alerts: alertsOf(adapted.alerts) };
  if (!load) return part;
  return Object.assign(part, {
    async load(host: PluginHost) {
      const found = await within(resolveTimeoutMs, load(host));
      Object.assign(part, { tools: toolsOf(found), alerts: alertsOf(found.alerts) });
    },
  });
}

async function importModule(name: string, path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    throw invalid(name, `${path} cannot be imported (${(error as Error).message})`, 'Mend that file', error);
  }
}

async function within<Value>(timeoutMs: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

interface Whole {
  options: PandoraOptions;
  manifest: Manifest;
  entries: Entry[];
  parts: Part[];
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
  const problemsOf = createCompiler()(id, 'config', 'parameters', configSchema);
  const load = async (given: PluginHost): Promise<void> => {
    const problems = [...missingVariables(manifest, given), ...problemsOf(given.config).map((problem) => `its configuration: ${problem}`)];
    if (problems.length > 0) throw invalid(name, problems.join('; '), 'Set what is missing, then load it again');
    const before = [...overrides];
    setOverrides(overrides, Object.entries((given.config['requireApproval'] ?? {}) as Record<string, boolean>));
    try {
      for (const part of parts) await part.load?.({ ...given, env: granted(given.env, entries) });
      const { tools, alerts } = define(parts.flatMap((part) => part.alerts));
      Object.assign(plugin, { tools: tools.map((tool) => ({ ...tool, requireApproval: overrides.get(tool.id) ?? tool.requireApproval })), alerts });
      host = given;
    } catch (error) {
      setOverrides(overrides, before);
      plugin.alerts = [
        ...plugin.alerts.filter(({ text }) => !text.startsWith(UNRESOLVED)),
        ...alertsOf([{ level: 'error', text: `${UNRESOLVED}${(error as Error).message}` }]),
      ];
      throw invalid(
        name,
        `its tools could not be resolved (${(error as Error).message})`,
        'Those from before stay; mend resolveTools or its configuration',
        error,
      );
    }
  };
  const isAsleep = () => parts.length > 0 && parts.every((part) => part.isAsleep?.() === true);
  const plugin = Object.assign(define(parts.flatMap(({ alerts }) => alerts)), { isAsleep });
  return plugin;
}

/** Gives its calls the variables as they were when the plugin was loaded. */
function withVariables(tool: Tool, loaded: () => PluginHost['env'] | undefined): Tool {
  const { env: names = [] } = tool.permissions;
  const pick = (env: PluginHost['env']) => Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)));
  return { ...tool, execute: (input, context) => tool.execute(input, { ...context, env: pick(loaded() ?? context.env) }) };
}

function setOverrides(overrides: Map<string, boolean>, values: [string, boolean][]): void {
  overrides.clear();
  for (const [tool, asks] of values) overrides.set(tool, asks);
}

/** Granted to tools one by one; `byPermission` keeps what is only declared from all of them. */
function variablesOf({ envVars }: Manifest, entries: Entry[]): Variable[] {
  const declared = new Map(envVars.map(({ name, required }) => [name, required]));
  for (const name of entries.flatMap(({ permissions: { env = [] } }) => env)) declared.set(name, declared.get(name) ?? false);
  return [...declared].map(([name, required]) => ({ name, required, byPermission: true }));
}

function missingVariables({ envVars }: Manifest, { env }: PluginHost): string[] {
  return envVars.filter(({ name, required }) => required && env[name] === undefined).map(({ name }) => `the variable ${name} is not set`);
}

function granted(env: PluginHost['env'], entries: Entry[]): PluginHost['env'] {
  const names = new Set(entries.flatMap(({ permissions: { env: list = [] } }) => list));
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.has(name)));
}

function manifestAlerts({ provides, envVars }: Manifest, entries: Entry[]): { level: string; text: string }[] {
  const left = (['channels', 'agents'] as const).filter((kind) => provides[kind] !== undefined);
  const seen = new Set(entries.flatMap(({ permissions: { env = [] } }) => env));
  return [
    ...left.map((kind) => ({ level: 'warning', text: `Its ${kind} are not loaded; only its tools are.` })),
    ...envVars
      .filter(({ name }) => !seen.has(name))
      .map(({ name }) => ({ level: 'warning', text: `No tool sees the variable ${name}: it is in envVars, but in no entry's permissions.env.` })),
  ];
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function told(name: string, error: unknown): Error {
  return invalid(name, (error as Error).message.replace(/^Plugin "[^"]*": /, ''), 'Mend its code', error);
}

function invalid(name: string, problem: string, fix: string, cause?: unknown): Error {
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(name), problem, fix }, cause);
}
