import type { Command } from 'commander';
import type { WebhookAttempt } from '../../client.ts';
import { printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { atLeastOne } from '../output/whole-number.ts';

interface AttemptOptions {
  limit?: number;
  cursor?: string;
  json?: boolean;
}

/** Commands about what is sent to a webhook. */
export function addSending(command: Command, cli: Cli): void {
  command
    .command('attempts')
    .description('List what was sent in the last seven days, newest first')
    .argument('<id>')
    .option('--limit <number>', 'at most so many (default: 50)', atLeastOne)
    .option('--cursor <text>', 'the next of the page before')
    .option('--json', 'as JSON')
    .action((id: string, options: AttemptOptions) => listAttempts(cli, id, options));
  command
    .command('replay')
    .description('Send events again')
    .argument('<id>')
    .option('--since <time>', 'those that were logged from this time on, such as 24h or 2027-01-31T09:00:00Z')
    .option('--from <webhook-id>', 'this message and those after it')
    .action((id: string, options: { since?: string; from?: string }) =>
      withClient(
        cli,
        async ({ webhooks }) => {
          const { queued } = await webhooks.replay(id, options);
          printFact(cli, `${queued} events are sent again.`);
        },
        { lazy: true },
      ),
    );
  command
    .command('rotate')
    .description('Make a new secret and print it; the old one signs too for a while')
    .argument('<id>')
    .option('--overlap <duration>', 'how long the old one signs too (default: 24h)')
    .action((id: string, { overlap }: { overlap?: string }) => rotateSecret(cli, id, overlap));
}

function rotateSecret(cli: Cli, id: string, overlap: string | undefined): Promise<void> {
  return withClient(
    cli,
    async ({ webhooks }) => {
      const { secret, oldSecretUntil } = await webhooks.rotate(id, overlap === undefined ? {} : { overlap });
      printLine(cli, secret);
      printFact(cli, `It is shown only now. The old secret ${oldSecretUntil === undefined ? 'has ended' : `signs too until ${oldSecretUntil}`}.`);
    },
    { lazy: true },
  );
}

function listAttempts(cli: Cli, id: string, { json = false, ...page }: AttemptOptions): Promise<void> {
  return withClient(
    cli,
    async ({ webhooks }) => {
      const { attempts, next } = await webhooks.attempts(id, page);
      if (json) return printJson(cli, { attempts, next });
      if (attempts.length === 0) return printLine(cli, 'Nothing was sent yet.');
      printTable(cli, ['AT (UTC)', 'MESSAGE', 'TYPE', 'OUTCOME', 'STATUS', 'MS', 'PROBLEM'], attempts.map(lineOf));
      if (next !== undefined) printFact(cli, `Older ones: longshore webhooks attempts ${id} --cursor ${next}`);
    },
    { lazy: true },
  );
}

function lineOf({ at, messageId = '-', type, outcome, status, tookMs, problem, retryAt }: WebhookAttempt): string[] {
  const retry = retryAt === undefined ? '' : `; again at ${retryAt.slice(11, 19)}`;
  return [
    at.slice(0, 19).replace('T', ' '),
    messageId,
    type ?? '-',
    outcome,
    String(status ?? '-'),
    String(tookMs),
    problem === undefined ? '-' : problem + retry,
  ];
}
