import { createReadStream } from 'node:fs';
import { Command } from 'commander';
import { failure } from '../../contracts/errors.ts';
import type { ImportReport } from '../../contracts/imports/import.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { EXIT, printError, printFact, printJsonLine, printLine, withClient, type Cli } from '../output/cli.ts';
import { createProgress } from '../sandbox/progress.ts';

interface Flags {
  agent?: string;
  user?: string;
  tenant?: string;
  id?: string;
  files: boolean;
  json?: boolean;
}

export function importCommand(cli: Cli): Command {
  return new Command('import')
    .description('Make a conversation of the file of an export, and go on with it here; nothing runs again')
    .argument('<file>', 'what longshore export has written; - is stdin')
    .option('--agent <id>', 'the agent that goes on with it; default: the one with the id that the file names')
    .option('--user <id>', 'for whom; default: the user that the file names')
    .option('--tenant <id>', 'whose; default: "default", whatever the file says')
    .option('--id <conversation>', 'id of the conversation; repeating the command with the same file and id makes no second one')
    .option('--no-files', 'without the files of the sandbox')
    .option('--json', 'as JSON')
    .action((file: string, { id, json = false, ...given }: Flags) =>
      withClient(cli, async (longshore) => {
        if (file === '-' && cli.in.isTTY) {
          cli.exitCode = EXIT.usage;
          return printError(cli, 'Give the file of an export, or send one to stdin: longshore import - < FILE');
        }
        using progress = createProgress(cli);
        const archive = counted(
          file,
          () => (file === '-' ? cli.in : createReadStream(file)),
          (bytes) => progress.add(bytes),
        );
        const { chat, report } = await longshore.import(archive, { ...given, ...(id !== undefined && { conversationId: id }) });
        progress[Symbol.dispose]();
        if (json) return printJsonLine(cli, { conversationId: chat.id, report });
        printLine(cli, chat.id);
        for (const line of linesOf(report)) printFact(cli, visibleLine(line));
        printFact(cli, `Go on with it: longshore chat --conversation ${chat.id}`);
      }),
    );
}

/** Opens the file only when it is read: the error of a stream that is not read would end the process. */
async function* counted(file: string, source: () => AsyncIterable<Buffer>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  try {
    for await (const piece of source()) {
      onBytes(piece.length);
      yield piece;
    }
  } catch (error) {
    throw failure('IMPORT_INVALID', {
      problem: `${visibleLine(file)} cannot be read (${visibleLine((error as Error).message)})`,
      fix: 'Name the file of an export',
    });
  }
}

function linesOf({ from, entries, events, attachments, files, leftOut }: ImportReport): string[] {
  const withFiles = 'why' in files ? `no files (${files.why})` : `${files.count} files with ${files.bytes} bytes`;
  return [
    `Imported from ${from.conversationId}, as exported at ${from.exportedAt}: ${entries} entries, ${attachments} attachments, ${withFiles}; ${events} earlier events are kept for a later export.`,
    ...leftOut.map((what) => `Left out: ${what}.`),
  ];
}
