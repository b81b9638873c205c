import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { failure } from '../../contracts/errors.ts';
import { isFileProblem, systemProblem } from '../../platform/system-problem.ts';
import { placeWhole } from '../../platform/place-whole.ts';
import { EXIT, printError, printFact, withClient, type Cli } from '../output/cli.ts';

interface Flags {
  out?: string;
  files: boolean;
}

export function exportCommand(cli: Cli): Command {
  return new Command('export')
    .description('Write everything of a conversation into one .tar.gz, which is readable without Longshore')
    .argument('<id>', 'conversation')
    .option('--out <file>', 'where to; - is stdout. Default: <id>.tar.gz in this directory')
    .option('--no-files', 'without the files of the sandbox')
    .action((id: string, { out = `${id}.tar.gz`, files }: Flags) =>
      withClient(
        cli,
        async (longshore) => {
          const archive = await longshore.export(id, { files });
          if (out !== '-') {
            await placeWhole(out, (beside) => pipeline(archive, createWriteStream(beside, { flags: 'wx', mode: 0o600 }))).catch((error: unknown) => {
              archive.destroy();
              if (!isFileProblem(error)) throw error;
              const problem = `${out} cannot be written (${systemProblem(error)})`;
              throw failure('INVALID_ARGUMENT', { what: '--out', problem, fix: 'Name a file in a directory that you can write to' });
            });
            return printFact(cli, `${id} is in ${out}.`);
          }
          if (cli.out.isTTY) {
            archive.destroy();
            cli.exitCode = EXIT.usage;
            return printError(cli, 'The archive is no text; send it to a file or a program, or give --out FILE.');
          }
          const writer = cli.out.program('never');
          for await (const piece of archive) await writer.put(piece as Buffer);
        },
        { lazy: true },
      ),
    );
}
