import { createLogger } from '../../platform/log.ts';
import type { Plugin } from '../../plugins/api/define-plugin.ts';
import { openIsolates } from '../../plugins/isolates/load-isolated.ts';
import type { OpenPluginSandboxes } from '../../plugins/dialects/shared/plugin-dialect.ts';
import { pluginSandboxesOf } from '../../plugins/load/plugin-sandboxes.ts';
import { isPath, rootOf } from '../../plugins/load/locate-plugin.ts';
import { problemOfOwnVariables } from '../../plugins/manager/own-variables.ts';
import { digestOf } from '../../plugins/manager/pins.ts';
import { permissionsOf } from '../../plugins/manager/permissions-of.ts';
import { loadSource } from '../../plugins/manager/plugin-source.ts';
import { EXIT, printFact, printJson, type Cli } from '../output/cli.ts';

/** Loads a plugin as a worker does, but without the worker's configuration, variables and `load`. @throws the error of the plugin */
export async function checkPlugin(cli: Cli, name: string, json: boolean): Promise<void> {
  const directory = process.cwd();
  await using isolates = await openIsolates({
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }),
    weaklyFenced: cli.config().LONGSHORE_WEAKLY_FENCED_PLUGINS,
  });
  // A name that looks like a path is a path; agents write it with ./ before it.
  const located = isPath(name) || name.startsWith('@') ? name : name.includes('/') ? `./${name}` : await pathOrPackage(name, directory);
  await using desk = openDesk(cli);
  await using loaded = await loadSource({ name: located, pins: [] }, { directory, hostPlugins: [], isolates, sandboxes: desk.sandboxes });
  const digest = await digestOf(await rootOf(located, directory)).catch((error: unknown) => `none: ${(error as Error).message}`);
  const problems = [...loaded.problems, ...loaded.plugins.flatMap((plugin) => problemOfOwnVariables(plugin) ?? [])].map(({ message }) => message);
  if (problems.length > 0) cli.exitCode = EXIT.failed;
  if (json) return printJson(cli, { digest, plugins: loaded.plugins.map(describe), problems });
  for (const plugin of loaded.plugins) for (const line of linesOf(plugin)) printFact(cli, line);
  printFact(cli, `digest: ${digest}`);
  for (const problem of problems) printFact(cli, `problem: ${problem}`);
}

/** Sandboxes for a plugin that needs one to say what it offers. Opened only for that. */
function openDesk(cli: Cli): AsyncDisposable & { sandboxes: OpenPluginSandboxes } {
  const opened: AsyncDisposable[] = [];
  const kept = <Opened extends AsyncDisposable>(one: Opened): Opened => {
    opened.unshift(one);
    return one;
  };
  return {
    async sandboxes() {
      const config = cli.config();
      const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
      // Loaded here, since most plugins need neither of them.
      const [{ openStore }, { createSandboxes }] = await Promise.all([import('../../store/open-store.ts'), import('../../sdk/backends.ts')]);
      const store = kept(await openStore({ url: config.DATABASE_URL, log, poolSize: 2, blobs: config, migrate: config.LONGSHORE_MIGRATE }));
      const sandboxes = kept(await createSandboxes({ config, store, log, role: 'visitor' }));
      return pluginSandboxesOf(config, { sandboxes, store, log });
    },
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one[Symbol.asyncDispose]();
    },
  };
}

async function pathOrPackage(name: string, directory: string): Promise<string> {
  return rootOf(`./${name}`, directory).then(
    () => `./${name}`,
    () => name,
  );
}

function describe({ id, version, description, dialect, tools, environment, configSchema, dependencies = [], alerts }: Plugin) {
  return { id, version, description, dialect, dependencies, environment, configSchema, permissions: permissionsOf(tools), alerts, tools };
}

function linesOf(plugin: Plugin): string[] {
  const { id, version, dialect, tools, environment, configSchema, dependencies = [], alerts } = plugin;
  const permissions = permissionsOf(tools);
  return [
    `${id} ${version} (${dialect}), ${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`,
    `permissions: ${Object.keys(permissions).length === 0 ? 'none' : JSON.stringify(permissions)}`,
    ...environment.map(({ name, required }) => `variable: ${name}${required ? ', required' : ''}`),
    ...(configSchema ? [`configuration: ${JSON.stringify(configSchema)}`] : []),
    ...(dependencies.length > 0 ? [`depends on: ${dependencies.join(', ')}`] : []),
    ...tools.flatMap((tool) => [
      '',
      `${id}:${tool.id}${tool.annotations.title === undefined ? '' : `, ${tool.annotations.title}`} (${tool.kind}, ${tool.visibility}, ${tool.isolation})`,
      ...tool.description.split('\n').map((line) => `  ${line}`),
      `  ${JSON.stringify(tool.parameters)}`,
      ...(tool.brief === undefined || tool.description.startsWith(tool.brief) ? [] : [`  in brief: ${tool.brief}`]),
    ]),
    '',
    ...alerts.map(({ level, text }) => `${level}: ${text}`),
  ];
}
