import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { Chat } from '../../client.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import { isObject, type JsonObject } from '../../contracts/json.ts';
import { lastWords } from '../../client/end-of-turn.ts';
import { printError, EXIT, printJsonLine, printLine, withClient, type Cli } from '../output/cli.ts';
import { createEventPrinter } from '../output/event-printer.ts';
import { createRunOutcome, type OutcomeLine } from './run-outcome.ts';

interface RunOptions {
  message: string;
  user: string;
  tenant?: string;
  id?: string;
  unattended?: boolean;
  wait?: boolean;
  close?: boolean;
  json?: boolean;
  output?: string;
  attach: string[];
}

const EXIT_CODES = { finished: EXIT.done, failed: EXIT.failed, closed: EXIT.failed, 'awaiting-approval': EXIT.awaitingApproval, paused: EXIT.paused };

export function runConversationCommand(cli: Cli): Command {
  return new Command('run')
    .description('Start a conversation with one message')
    .argument('<agent>', 'agent')
    .requiredOption('--message <text>', 'what to say; may be empty with --attach')
    .option('--attach <file>', 'image or file that belongs to the message; may be repeated', (file: string, others: string[]) => [...others, file], [])
    .option('--user <id>', 'for whom', 'cli')
    .option('--tenant <id>')
    .option('--id <conversation>', 'id of the new conversation; repeating the command with the same id does not start a second one')
    .option('--unattended', 'no person can approve calls: only tools that read and need no approval are offered and run')
    .option('--wait', 'until the turn has ended, waits for an approval or is paused; the exit code says which')
    .option('--close', 'close the conversation when its turn has ended')
    .option('--output <file>', 'file with a JSON Schema that the answer has to fit')
    .option('--json', 'one JSON object per line: the events, last the outcome')
    .action((agent: string, options: RunOptions) =>
      withClient(cli, async (longshore) => {
        const { message, user, tenant, id, unattended } = options;
        const output = options.output === undefined ? undefined : await readOutput(options.output);
        const given = withoutUndefined({ tenant, conversationId: id, unattended, output });
        const attachments = options.attach.map((path) => ({ path }));
        // No process closes the conversation later.
        const closeWhenDone = options.close === true && !options.wait;
        const chat = await longshore.start({ agent, user, message, closeWhenDone, ...given, ...(attachments.length > 0 && { attachments }) });
        if (options.wait) return await follow(cli, chat, options);
        if (options.json) printJsonLine(cli, { conversationId: chat.id });
        else printLine(cli, chat.id);
      }),
    );
}

async function readOutput(file: string): Promise<JsonObject> {
  const unusable = (problem: string) => failure('OUTPUT_INVALID', { problem: `${file} ${problem}`, fix: 'Name a file with a JSON Schema' });
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw unusable(`cannot be read (${error.message})`);
  });
  const schema = tryParseForeign(text);
  if (!isObject(schema)) throw unusable('has no JSON object');
  return schema;
}

async function follow(cli: Cli, chat: Chat, { json, close }: RunOptions): Promise<void> {
  const interrupted = new AbortController();
  const release = cli.onInterrupt(() => interrupted.abort());
  const print = json ? (event: object) => printJsonLine(cli, event) : createEventPrinter(cli);
  const outcome = createRunOutcome(chat.id);
  try {
    for await (const event of chat.events({ signal: interrupted.signal })) {
      print(event);
      if (outcome.add(event)) break;
    }
  } finally {
    release();
  }
  if (interrupted.signal.aborted) {
    printError(cli, `${chat.id} continues in the background; see: longshore show ${chat.id}`);
    cli.exitCode = EXIT.interrupted;
    return;
  }
  const ended = outcome.get(lastWords(await chat.transcript(), outcome.turnId()));
  if (close && (ended.outcome === 'finished' || ended.outcome === 'failed')) await closeAndWait(chat);
  report(cli, ended, json === true);
}

/** When this returns, the sandbox is removed. */
async function closeAndWait(chat: Chat): Promise<void> {
  await chat.close();
  for await (const _ of chat.events());
}

function report(cli: Cli, outcome: OutcomeLine, json: boolean): void {
  cli.exitCode = EXIT_CODES[outcome.outcome];
  if (json) printJsonLine(cli, outcome);
  else if (outcome.outcome === 'awaiting-approval') printError(cli, `It waits for an approval; see: longshore show ${outcome.conversationId}`);
  else if (outcome.outcome === 'paused') printError(cli, `It is paused; go on with: longshore resume ${outcome.conversationId}`);
}
