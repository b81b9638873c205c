import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
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
          if (out !== '-') return await writeTo(cli, archive, { id, out });
          if (cli.out.isTTY) {
            archive.destroy();
            cli.exitCode = EXIT.usage;
            return printError(cli, 'The archive is no text; send it to a file or a program, or give --out FILE.');
          }
          await printTo(cli, archive);
        },
        { lazy: true },
      ),
    );
}

/** Ends when nothing reads it any more. */
async function printTo(cli: Cli, archive: Readable): Promise<void> {
  const gone = new AbortController();
  const release = cli.onReaderGone(() => gone.abort());
  const writer = cli.out.program('never');
  try {
    for await (const piece of archive) {
      await writer.put(piece as Buffer);
      if (gone.signal.aborted) break;
    }
  } finally {
    release();
  }
}

/** Nothing is left of an archive that did not become whole. */
async function writeTo(cli: Cli, archive: Readable, { id, out }: { id: string; out: string }): Promise<void> {
  const interrupted = new AbortController();
  const release = cli.onInterrupt(() => interrupted.abort());
  try {
    await placeWhole(out, (beside) => pipeline(archive, createWriteStream(beside, { flags: 'wx', mode: 0o600 }), { signal: interrupted.signal }));
    printFact(cli, `${id} is in ${out}.`);
  } catch (error) {
    archive.destroy();
    if (interrupted.signal.aborted) {
      cli.exitCode = EXIT.interrupted;
      return printError(cli, 'Interrupted; nothing was written.');
    }
    if (!isFileProblem(error)) throw error;
    const problem = `${out} cannot be written (${systemProblem(error)})`;
    throw failure('INVALID_ARGUMENT', { what: '--out', problem, fix: 'Name a file in a directory that you can write to, or give --out - for a program' });
  } finally {
    release();
  }
  return undefined;
}
