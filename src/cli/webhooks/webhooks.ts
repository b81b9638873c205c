import { Command, InvalidArgumentError } from 'commander';
import type { EventType, Webhook } from '../../client.ts';
import { EVENT_TYPES } from '../../contracts/events.ts';
import { EXIT, printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { addSending } from './sending.ts';
import { listWebhooks } from './list-webhooks.ts';

interface CreateOptions {
  tenant?: string;
  type: EventType[];
  agent: string[];
  json?: boolean;
}

export function webhooksCommand(cli: Cli): Command {
  const command = new Command('webhooks').description('Make, list and remove webhooks: URLs that events of conversations are sent to');
  command
    .command('create')
    .description('Make a webhook and print its secret: it is shown only now')
    .argument('<url>', 'where messages are sent')
    .option('--tenant <id>', 'whose conversations (default: default)')
    .option('--type <type>', 'a type of events; repeat it for more (default: all but text.delta, reasoning.delta and tool.output)', addType, [])
    .option('--agent <id>', 'only conversations of this agent; repeat it for more', (one: string, before: string[]) => [...before, one], [])
    .option('--json', 'as JSON')
    .action((url: string, options: CreateOptions) => createWebhook(cli, url, options));
  command
    .command('ls')
    .description('List webhooks')
    .option('--tenant <id>', 'only those of this tenant')
    .option('--json', 'as JSON')
    .action(({ tenant, json = false }: { tenant?: string; json?: boolean }) => listWebhooks(cli, tenant, json));
  addChanges(command, cli);
  addSending(command, cli);
  return command;
}

function addType(text: string, before: EventType[]): EventType[] {
  const type = EVENT_TYPES.find((one) => one === text);
  if (type === undefined) throw new InvalidArgumentError(`Use ${EVENT_TYPES.join(', ')}.`);
  return [...before, type];
}

function createWebhook(cli: Cli, url: string, { tenant, type, agent, json = false }: CreateOptions): Promise<void> {
  return withClient(
    cli,
    async ({ webhooks }) => {
      const lists = { ...(type.length > 0 && { types: type }), ...(agent.length > 0 && { agents: agent }) };
      const made = await webhooks.create({ url, ...lists, ...(tenant !== undefined && { tenant }) });
      if (json) return printJson(cli, made);
      printLine(cli, made.secret);
      printFact(
        cli,
        `The secret is shown only now. Events of tenant ${made.tenantId} go to ${made.url}. Try it with: longshore webhooks test ${made.webhookId}`,
      );
    },
    { lazy: true },
  );
}

function addChanges(command: Command, cli: Cli): void {
  command
    .command('rm')
    .description('Remove a webhook, with what waits for it')
    .argument('<id>')
    .action((id: string) =>
      withClient(
        cli,
        async ({ webhooks }) => {
          await webhooks.delete(id);
          printFact(cli, `${id} is removed.`);
        },
        { lazy: true },
      ),
    );
  command
    .command('enable')
    .description('Enable a webhook again, and send what waited when it was disabled')
    .argument('<id>')
    .action((id: string) =>
      withClient(
        cli,
        async ({ webhooks }) => {
          const { waiting } = await webhooks.enable(id);
          printFact(cli, `${id} is active; ${waiting} events wait. What came while it was disabled is sent by: longshore webhooks replay ${id} --since <time>`);
        },
        { lazy: true },
      ),
    );
  command
    .command('test')
    .description('Send a message of type test from this machine now')
    .argument('<id>')
    .action((id: string) => withClient(cli, async ({ webhooks }) => tellTest(cli, id, await webhooks.test(id)), { lazy: true }));
}

function tellTest(
  cli: Cli,
  id: Webhook['webhookId'],
  { delivered, status, problem, tookMs }: { delivered: boolean; status?: number; problem?: string; tookMs: number },
): void {
  if (!delivered) cli.exitCode = EXIT.failed;
  printFact(cli, delivered ? `${id} answered ${status} in ${tookMs} ms.` : `${id} has not taken the message: ${problem ?? status}`);
}
