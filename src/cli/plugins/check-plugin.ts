import { createLogger } from '../../platform/log.ts';
import type { Plugin } from '../../plugins/api/define-plugin.ts';
import { openIsolates } from '../../plugins/isolates/load-isolated.ts';
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
  await using loaded = await loadSource({ name: located, pins: [] }, { directory, hostPlugins: [], isolates });
  const digest = await digestOf(await rootOf(located, directory)).catch((error: unknown) => `none: ${(error as Error).message}`);
  const problems = [...loaded.problems, ...loaded.plugins.flatMap((plugin) => problemOfOwnVariables(plugin) ?? [])].map(({ message }) => message);
  if (problems.length > 0) cli.exitCode = EXIT.failed;
  if (json) return printJson(cli, { digest, plugins: loaded.plugins.map(describe), problems });
  for (const plugin of loaded.plugins) for (const line of linesOf(plugin)) printFact(cli, line);
  printFact(cli, `digest: ${digest}`);
  for (const problem of problems) printFact(cli, `problem: ${problem}`);
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
      `  ${tool.description.replaceAll('\n', '\n  ')}`,
      `  ${JSON.stringify(tool.parameters)}`,
      ...(tool.brief === undefined || tool.description.startsWith(tool.brief) ? [] : [`  in brief: ${tool.brief}`]),
    ]),
    '',
    ...alerts.map(({ level, text }) => `${level}: ${text}`),
  ];
}
