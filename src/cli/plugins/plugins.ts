import { Command } from 'commander';
import { showValue } from '../../common/show-value.ts';
import { failure } from '../../contracts/errors.ts';
import type { Longshore } from '../../client.ts';
import { addViews } from '../output/add-views.ts';
import { printFact, printJson, withClient, type Cli } from '../output/cli.ts';
import type { AddOptions } from './add/add-plugin.ts';
import { oneMore } from '../output/one-more.ts';
import { configurePlugin, type ConfigOptions } from './configure-plugin.ts';
import { grantPermissions, revokePermissions, type GrantOptions } from './grant-permissions.ts';
import { pluginWebhooks, type WebhookOptions } from './plugin-webhooks.ts';
import { describePlugin, listPlugins, whoFollows } from './show-plugins.ts';
import { wholeNumber } from '../output/whole-number.ts';

interface Json {
  json?: boolean;
}

export function pluginsCommand(cli: Cli): Command {
  const command = new Command('plugins').description('List, check, configure and write plugins');
  addViews(command, {
    ls: { description: 'List the plugins of all workers', run: (json) => lazily(cli, (longshore) => listPlugins(cli, longshore, json)) },
    show: {
      description: 'Show a plugin: its tools, permissions, configuration, alerts and errors',
      id: 'id, or the name that agents give it',
      run: (id, json) => lazily(cli, (longshore) => describePlugin(cli, longshore, id, json)),
    },
  });
  addChanges(command, cli);
  addGrants(command, cli);
  addWebhooks(command, cli);
  command
    .command('check')
    .description('Load the plugin of a directory in a compartment and show its tools, permissions and problems')
    .argument('<directory>', 'directory or package')
    .option('--json', 'as JSON')
    .action(async (directory: string, { json = false }: Json) => {
      const { checkPlugin } = await import('./check/check-plugin.ts');
      await checkPlugin(cli, directory, json);
    });
  addAdd(command, cli);
  command
    .command('new')
    .description('Write a plugin that works, with its test')
    .argument('<dialect>', 'style in which it is written: longshore, or another (a name that does not exist is answered with those that do)')
    .argument('<name>', 'its id, and the name of its directory')
    .option('--directory <path>', 'where to make it', '.')
    .action(async (wanted: string, name: string, { directory }: { directory: string }) => {
      const [{ DIALECTS }, { newPlugin }] = await Promise.all([import('../../plugins/dialects/dialects.ts'), import('./new-plugin.ts')]);
      const dialect = DIALECTS.find((each) => each.name === wanted);
      if (!dialect) throw unknownDialect(wanted, DIALECTS);
      await newPlugin(cli, dialect, name, directory);
    });
  return command;
}

function addAdd(command: Command, cli: Cli): void {
  command
    .command('add')
    .description('Copy a plugin into the directory of plugins and pin it, after showing what it needs and may do; again, to update it')
    .argument('<source>', 'directory, package of npm (words@1.2.3) or address of git (https://host/words#v1.2.3)')
    .option('--agent <id>', 'agent into whose file its entry is written, with what it asks for as its permissions; may be repeated', oneMore)
    .option('--directory <path>', 'directory of plugins (default: plugins beside the directory of agents)')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'as JSON')
    .action(async (source: string, options: AddOptions) => {
      const { addPlugin } = await import('./add/add-plugin.ts');
      await addPlugin(cli, source, options);
    });
}

function unknownDialect(wanted: string, known: readonly { name: string }[]): Error {
  const fix = `Name one of ${known.map(({ name }) => name).join(', ')}`;
  return failure('INVALID_ARGUMENT', { what: 'dialect', problem: `there is no ${showValue(wanted)}`, fix });
}

function addChanges(command: Command, cli: Cli): void {
  for (const [name, enabled, description] of [
    ['enable', true, 'Enable a plugin again for the agents that name it'],
    ['disable', false, 'Disable a plugin for all agents; running calls are not interrupted'],
  ] as const) {
    command
      .command(name)
      .description(description)
      .argument('<id>')
      .option('--json', 'as JSON')
      .action((id: string, { json = false }: Json) =>
        lazily(cli, async (longshore) => {
          await longshore.plugins.enable(id, enabled);
          tell(cli, json, { plugin: id, enabled }, `${id} is ${name}d; ${whoFollows(await longshore.plugins.get(id))}.`);
        }),
      );
  }
  command
    .command('config')
    .description('Show the configuration of a plugin, or change it; secrets are written as ${env.NAME}')
    .argument('<id>')
    .option('--set <key=value...>', 'set a value (nested: a.b=1); it is read as JSON if possible, otherwise as text')
    .option('--unset <key...>', 'remove a key')
    .option('--replace <json>', 'the whole configuration')
    .option('--if-version <number>', 'change it only if it still has this version', wholeNumber)
    .option('--json', 'as JSON')
    .action((id: string, options: ConfigOptions) => lazily(cli, (longshore) => configurePlugin(cli, longshore, id, options)));
  command
    .command('reload')
    .description('Let the workers load plugins again; if the new version cannot be loaded, the old one stays')
    .argument('<ids...>')
    .option('--json', 'as JSON')
    .action((ids: string[], { json = false }: Json) =>
      lazily(cli, async (longshore) => {
        // All plugins are looked up before the first one is reloaded.
        const states = await Promise.all(ids.map((id) => longshore.plugins.get(id)));
        for (const id of ids) await longshore.plugins.reload(id);
        const names = ids.join(', ');
        tell(cli, json, { reloaded: ids }, `${names}: to be loaded again; ${whoFollows(...states)}. See the result: longshore plugins ls`);
      }),
    );
}

function addGrants(command: Command, cli: Cli): void {
  const grant = command
    .command('grant')
    .description('Let a plugin have permissions that it asks for; production refuses plugins that ask for more than was granted')
    .option('--all', 'all that it asks for now');
  const revoke = command.command('revoke').description('Revoke permissions of a plugin (all, if none is named); the files of agents may still grant them');
  for (const [changing, change] of [
    [grant, grantPermissions],
    [revoke, revokePermissions],
  ] as const) {
    changing
      .argument('<id>')
      .option('--network <host...>', 'hosts; one without a port stands for all of its ports')
      .option('--env <name...>', 'variables of the worker')
      .option('--fs <path...>', 'absolute paths on the host, with all that lies below them')
      .option('--time', 'the clock, which needs no grant')
      .option('--random', 'Math.random(), which needs no grant')
      .option('--json', 'as JSON')
      .action((id: string, options: GrantOptions) => lazily(cli, (longshore) => change(cli, longshore, id, options)));
  }
}

function addWebhooks(command: Command, cli: Cli): void {
  command
    .command('webhooks')
    .description('List the addresses at which outside systems reach a plugin, make one, or end one')
    .argument('<id>')
    .option('--add <endpoint>', 'make an address for this webhook of the plugin; it is shown once')
    .option('--tenant <tenant>', 'with --add: whose plugin gets the requests (default: default)')
    .option('--remove <webhookId>', 'end an address; requests that wait for it are not delivered')
    .option('--json', 'as JSON')
    .action((id: string, options: WebhookOptions) => lazily(cli, (longshore) => pluginWebhooks(cli, longshore, id, options)));
}

/** All of this is in Postgres, so Temporal need not be available. */
function lazily(cli: Cli, work: (longshore: Longshore) => Promise<void>): Promise<void> {
  return withClient(cli, work, { lazy: true });
}

function tell(cli: Cli, json: boolean, value: object, line: string): void {
  if (json) printJson(cli, value);
  else printFact(cli, line);
}
