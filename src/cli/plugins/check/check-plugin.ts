import { failure } from '../../../contracts/errors.ts';
import type { Plugin } from '../../../plugins/api/define-plugin.ts';
import { BUILTIN_IDS } from '../../../plugins/builtin/builtin-plugins.ts';
import { isPath, rootOf } from '../../../plugins/load/locate-plugin.ts';
import { permissionsOf } from '../../../plugins/manager/permissions-of.ts';
import { EXIT, printFact, printJson, type Cli } from '../../output/cli.ts';
import { openPluginLoading, type CheckedPlugin } from './plugin-loading.ts';

/** Loads a plugin as a worker does, but without the worker's configuration, variables and `load`. @throws the error of the plugin */
export async function checkPlugin(cli: Cli, name: string, json: boolean): Promise<void> {
  const directory = process.cwd();
  await using loading = openPluginLoading(cli);
  // A name that looks like a path is a path; agents write it with ./ before it.
  const located = isPath(name) || name.startsWith('@') ? name : name.includes('/') ? `./${name}` : await pathOrPackage(name, directory);
  const loaded = await loading.load(located, directory);
  const checked = { ...loaded, problems: [...loaded.problems, ...loaded.plugins.flatMap(({ id }) => problemOfId(id, located))] };
  if (checked.problems.length > 0) cli.exitCode = EXIT.failed;
  if (json) return printJson(cli, { digest: checked.digest, plugins: describePlugins(checked), problems: checked.problems });
  printPlugins(cli, checked);
}

/** Workers refuse a plugin with the id of one that comes with Longshore. */
function problemOfId(id: string, name: string): string[] {
  return BUILTIN_IDS.includes(id) ? [failure('PLUGIN_COLLISION', { id, first: 'a built-in plugin', second: name }).message] : [];
}

async function pathOrPackage(name: string, directory: string): Promise<string> {
  return rootOf(`./${name}`, directory).then(
    () => `./${name}`,
    () => name,
  );
}

/** What `--json` shows of plugins. */
export function describePlugins({ plugins, requirements }: CheckedPlugin) {
  return plugins.map(({ id, version, description, dialect, tools, environment, configSchema, dependencies = [], alerts }) => ({
    id,
    version,
    description,
    dialect,
    dependencies,
    requirements,
    environment,
    configSchema,
    permissions: permissionsOf(tools),
    alerts,
    tools,
  }));
}

/** All that a person should know before plugins are used. */
export function printPlugins(cli: Cli, { plugins, requirements, digest, problems }: CheckedPlugin): void {
  for (const plugin of plugins) for (const line of linesOf(plugin, requirements)) printFact(cli, line);
  printFact(cli, `digest: ${digest}`);
  for (const problem of problems) printFact(cli, `problem: ${problem}`);
}

function linesOf(plugin: Plugin, requirements: string[]): string[] {
  const { id, version, dialect, tools, environment, configSchema, dependencies = [], alerts } = plugin;
  const permissions = permissionsOf(tools);
  return [
    `${id} ${version} (${dialect}), ${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`,
    `permissions: ${Object.keys(permissions).length === 0 ? 'none' : JSON.stringify(permissions)}`,
    ...environment.map(({ name, required }) => `variable: ${name}${required ? ', required' : ''}`),
    ...(configSchema ? [`configuration: ${JSON.stringify(configSchema)}`] : []),
    ...(dependencies.length > 0 ? [`depends on: ${dependencies.join(', ')}`] : []),
    ...(requirements.length > 0 ? [`packages: ${requirements.join(', ')}`] : []),
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
