import { Command } from 'commander';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { ChangedSide, Diff, DiffMoment, DiffOptions, FileChange } from '../../contracts/checkpoints/diff.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { printError, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import type { Colour } from '../output/terminal.ts';

interface Flags {
  patch?: boolean;
  json?: boolean;
}

const CHECKPOINT = /^cp_\d+_/;

export function diffCommand(cli: Cli): Command {
  return new Command('diff')
    .description('List what has changed in the sandbox of a conversation since a checkpoint, or between two; or print it as a patch for "git apply"')
    .argument('<id>', 'conversation')
    .argument(
      '[from-to-paths...]',
      'up to two checkpoints (by default the newest one, and the files as they are now), then paths; a path that begins as a checkpoint is written ./cp_1_x',
    )
    .option('--patch', 'as a patch')
    .option('--json', 'as JSON, without the patch')
    .action((id: string, rest: string[], { patch = false, json = false }: Flags) =>
      withClient(
        cli,
        async (longshore) => {
          const found = await longshore.diff(id, { ...readRest(rest), ...(patch && !json && { patch }) });
          if (json) return printJson(cli, found);
          printError(
            cli,
            visibleLine(`From ${momentText(found.from)} to ${momentText(found.to)}.${found.woken ? ' The sandbox rested, and was woken for this.' : ''}`),
          );
          if (patch) await printPatch(cli, found.patch ?? new Uint8Array());
          else printChanges(cli, found);
          printNotes(cli, found, patch);
        },
        { lazy: true },
      ),
    );
}

function readRest(rest: string[]): DiffOptions {
  const count = rest.slice(0, 2).findIndex((word) => !CHECKPOINT.test(word));
  const checkpoints = count < 0 ? rest.slice(0, 2) : rest.slice(0, count);
  const [from, to] = checkpoints;
  const paths = rest.slice(checkpoints.length);
  return withoutUndefined({ from, to, paths: paths.length > 0 ? paths : undefined });
}

function momentText({ checkpointId, at }: DiffMoment): string {
  const time = at.slice(0, 19).replace('T', ' ');
  return checkpointId === undefined ? `the files as they are now (${time})` : `checkpoint ${checkpointId} (${time})`;
}

function printChanges(cli: Cli, { changes, changed, linesAdded, linesRemoved }: Diff): void {
  if (changed === 0) return printLine(cli, 'Nothing has changed.');
  printTable(cli, ['CHANGE', 'BYTES', 'LINES', 'PATH'], changes.map(rowOf));
  printLine(cli, `${changed} ${changed === 1 ? 'path' : 'paths'}, ${linesAdded} lines added, ${linesRemoved} removed`);
}

function rowOf({ change, before, after, lines, path }: FileChange): string[] {
  const counted = lines ? `+${lines.added} -${lines.removed}${lines.exact ? '' : ' (all)'}` : '';
  return [changeText(change, before, after), bytesText(before, after), counted, path];
}

function changeText(change: FileChange['change'], before: ChangedSide | undefined, after: ChangedSide | undefined): string {
  if (change === 'type') return `${before?.type} -> ${after?.type}`;
  const type = (after ?? before)?.type;
  return `${change}${type === 'file' ? '' : ` ${type}`}${modesText(before?.mode, after?.mode)}`;
}

function modesText(before: number | undefined, after: number | undefined): string {
  return before === undefined || after === undefined || before === after ? '' : ` ${before.toString(8)} -> ${after.toString(8)}`;
}

function bytesText(before: ChangedSide | undefined, after: ChangedSide | undefined): string {
  const [old, current] = [before?.bytes, after?.bytes];
  if (old === undefined || current === undefined) return String(current ?? old ?? '');
  return old === current ? String(current) : `${old} -> ${current}`;
}

/** Other programs get the bytes as they are. */
async function printPatch(cli: Cli, patch: Uint8Array): Promise<void> {
  if (!cli.out.isTTY) {
    const writer = cli.out.program('never');
    await writer.put(patch);
    return writer.end();
  }
  const text = Buffer.from(patch).toString();
  for (const line of text.replace(/\n$/, '').split('\n')) cli.out.printColoured(`${line}\n`, colourOf(line));
}

function colourOf(line: string): Colour | undefined {
  if (/^(?:diff --git|---|\+\+\+) /.test(line) || line.startsWith('#')) return 'bold';
  if (line.startsWith('@@')) return 'cyan';
  return line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined;
}

function printNotes(cli: Cli, { notListed, leftOut, unreadable }: Diff, patch: boolean): void {
  if (!patch && notListed > 0) printError(cli, `${notListed} more are not listed; name some of the paths.`);
  if (patch && leftOut > 0) printError(cli, `${leftOut} paths are not in the patch, or not wholly; its lines that begin with "# left out" say which and why.`);
  if (unreadable > 0) printError(cli, `${unreadable} paths cannot be read, so it is not known whether they differ.`);
}
