import { Command } from 'commander';
import { visibleLine } from '../../contracts/visible-text.ts';
import { addViews } from '../output/add-views.ts';
import { EXIT, printError, printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { wholeNumber } from '../output/whole-number.ts';
import { createSchedule, type CreateOptions } from './create.ts';
import { listSchedules } from './list.ts';
import { showSchedule } from './show.ts';

interface Json {
  json?: boolean;
}

export function scheduleCommand(cli: Cli): Command {
  const command = new Command('schedule').description('Make, list, pause and remove schedules, which start unattended conversations at set times');
  addCreate(command, cli);
  addViews(command, {
    ls: { description: 'List schedules', run: (json) => withClient(cli, (longshore) => listSchedules(cli, longshore, json)) },
    show: {
      description: 'Show a schedule: its times, its message, and the outcome of its last runs',
      run: (id, json) => withClient(cli, (longshore) => showSchedule(cli, longshore, id, json)),
    },
  });
  addChanges(command, cli);
  return command;
}

function addCreate(command: Command, cli: Cli): void {
  command
    .command('create')
    .description('Make a schedule: at each of its times, a conversation of its own begins with the message')
    .argument('<id>', 'its name; letters, digits, ".", "_" and "-"')
    .argument('<agent>', 'agent')
    .requiredOption('--message <text>', 'what to say')
    .option('--cron <times>', 'minute, hour, day of the month, month, day of the week, such as "0 9 * * 1-5"; or @hourly, @daily, …')
    .option('--time-zone <name>', 'of --cron, such as Europe/Berlin (default: UTC)')
    .option('--every <duration>', 'such as 30m or 24h; counted from 1970, so that 1h is every full hour')
    .option('--at <time>', 'once, such as 2027-01-31T09:00:00Z')
    .option('--user <id>', 'for whom', 'cli')
    .option('--tenant <id>')
    .option('--keep-open', 'the conversation stays open after its answer; otherwise it closes')
    .option('--catch-up <duration>', 'how late a run may begin after an outage; later runs are skipped', '1d')
    .option('--max-runs <number>', 'end the schedule after this many runs', wholeNumber)
    .option('--json', 'as JSON')
    .action((id: string, agent: string, options: CreateOptions) => withClient(cli, (longshore) => createSchedule(cli, longshore, { id, agent, ...options })));
}

function addChanges(command: Command, cli: Cli): void {
  command
    .command('pause')
    .description('Pause a schedule; runs that become due meanwhile are skipped')
    .argument('<id>')
    .option('--note <text>', 'why; shown to everybody')
    .action((id: string, options: { note?: string }) =>
      withClient(cli, async (longshore) => {
        await longshore.schedules.pause(id, options);
        printFact(cli, `${id} is paused. Go on with: longshore schedule resume ${id}`);
      }),
    );
  command
    .command('resume')
    .description('Resume a paused schedule from its next time')
    .argument('<id>')
    .action((id: string) =>
      withClient(cli, async (longshore) => {
        await longshore.schedules.resume(id);
        const [next] = (await longshore.schedules.get(id)).nextAt;
        printFact(cli, `${id} goes on${next === undefined ? ', but has no further run' : `, next at ${next}`}.`);
      }),
    );
  command
    .command('run')
    .description('Run a schedule now, paused or not')
    .argument('<id>')
    .option('--json', 'as JSON')
    .action((id: string, { json = false }: Json) => runSchedule(cli, id, json));
  command
    .command('rm')
    .description('Remove a schedule; its conversations stay as they are')
    .argument('<id>')
    .action((id: string) =>
      withClient(cli, async (longshore) => {
        await longshore.schedules.delete(id);
        printFact(cli, `${id} is removed; its conversations stay as they are.`);
      }),
    );
}

function runSchedule(cli: Cli, id: string, json: boolean): Promise<void> {
  return withClient(cli, async (longshore) => {
    const run = await longshore.schedules.trigger(id);
    if (run.outcome === 'failed') cli.exitCode = EXIT.failed;
    if (run.outcome === 'waiting') cli.exitCode = EXIT.serviceAway;
    if (json) printJson(cli, run);
    else if (run.outcome === 'started') printLine(cli, run.conversationId);
    else if (run.outcome === 'failed') printError(cli, visibleLine(`The run failed: ${run.problem}`));
    else printError(cli, visibleLine(`No worker has started the run yet; ${run.conversationId} begins when one does. Start one: longshore worker`));
  });
}
