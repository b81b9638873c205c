import { stat } from 'node:fs/promises';
import { basename, join, posix, resolve } from 'node:path';
import { Command } from 'commander';
import { failure } from '../../contracts/errors.ts';
import type { TransferProgress, TransferReport } from '../../sandbox/api/files.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { printError, EXIT, printLine, type Cli } from '../output/cli.ts';
import { createProgress } from './progress.ts';
import { visit } from './visit.ts';

interface CopyOptions {
  force?: boolean;
}

/** One side of a copy. */
type Place = { where: 'here'; path: string } | { where: 'sandbox'; id: string; path: string };

const HOME = '/home/user';

export function copyCommand(cli: Cli): Command {
  return new Command('cp')
    .description('Copy a file or a directory between this machine and a sandbox; directories are merged, and nothing is deleted')
    .argument('<from>', 'a path here, or <id>:<path> in a sandbox; a directory with /. at its end stands for what is in it')
    .argument('<to>', 'destination, written in the same way; in an existing directory the copy keeps its name')
    .option('--force', 'even if the conversation is paused; its running command then continues')
    .action((from: string, to: string, { force = false }: CopyOptions) => copy(cli, ...placesOf(from, to), force));
}

/** Ids with our prefix come first, so that a local path may contain a colon; without one, an id that a caller has chosen is what stands before a colon. */
function placesOf(from: string, to: string): [Place, Place] {
  const places = [from, to].map((text) => placeOf(text, OWN_ID)) as [Place, Place];
  if (places.some(({ where }) => where === 'sandbox')) return places;
  return [placeOf(from, CHOSEN_ID), placeOf(to, CHOSEN_ID)];
}

const OWN_ID = /^((?:sbx|conv)_[A-Za-z0-9_.-]+):(.*)$/s;
const CHOSEN_ID = /^([^/:]+):(.*)$/s;

function placeOf(text: string, pattern: RegExp): Place {
  const [, id, path = ''] = pattern.exec(text) ?? [];
  if (id === undefined) return { where: 'here', path: text };
  return { where: 'sandbox', id, path: path === '' ? HOME : path };
}

async function copy(cli: Cli, from: Place, to: Place, force: boolean): Promise<void> {
  if (from.where === to.where) {
    throw failure('INVALID_ARGUMENT', {
      what: 'cp',
      problem: 'one of the two paths has to be in a sandbox, and the other on this machine',
      fix: 'Write <id>:/path for the path in a sandbox, with the id of the sandbox or of its conversation, and ./ before a path here that has a colon',
    });
  }
  const id = from.where === 'sandbox' ? from.id : to.where === 'sandbox' ? to.id : '';
  await visit(cli, id, { force }, async (handle, { interrupted }) => {
    using progress = createProgress(cli);
    const onBytes = (bytes: number) => {
      // Ends the copy, which then removes what it has begun.
      if (interrupted.aborted) throw new Error('interrupted');
      progress.add(bytes);
    };
    const report = await (to.where === 'here' ? download : upload)(handle, from.path, to.path, onBytes).catch((error: unknown) => {
      if (!interrupted.aborted) throw error;
    });
    progress[Symbol.dispose]();
    if (report) return tell(cli, report);
    cli.exitCode = EXIT.interrupted;
    return printError(cli, 'Interrupted; a file of which only a part had come is as it was before.');
  });
}

async function upload(handle: SandboxHandle, from: string, to: string, onBytes: (bytes: number) => void): Promise<TransferReport> {
  const status = await stat(from).catch((error: unknown) => {
    throw failure('FILE_NOT_FOUND', { path: from }, error);
  });
  const found = await kindInside(handle, to);
  if (found === 'file' && status.isDirectory()) throw failure('FILE_FAILED', { path: to, problem: 'is a file, and a directory cannot be put there' });
  const target = namedBelow(found === 'directory', from, to) ? posix.join(to, basename(resolve(from))) : to;
  if (status.isDirectory()) return handle.uploadDirectory(from, target, { onBytes });
  return oneFile(onBytes, (options) => handle.uploadFile(from, target, options));
}

async function download(handle: SandboxHandle, from: string, to: string, onBytes: (bytes: number) => void): Promise<TransferReport> {
  const source = await kindInside(handle, from);
  if (source === undefined) throw failure('FILE_NOT_FOUND', { path: from });
  const here = await stat(to).catch(() => undefined);
  const target = namedBelow(here?.isDirectory() ?? false, from, to) ? join(to, posix.basename(posix.resolve(HOME, from))) : to;
  if (source === 'directory') return handle.downloadDirectory(from, target, { onBytes });
  return oneFile(onBytes, (options) => handle.downloadFile(from, target, options));
}

/** Whether the copy is placed inside its target, under its own name. */
function namedBelow(isDirectory: boolean, from: string, to: string): boolean {
  return (isDirectory || to.endsWith('/')) && !/(^|\/)\.$/.test(from);
}

/** The type of the file that a path of the sandbox leads to; links are followed. */
async function kindInside(handle: SandboxHandle, path: string): Promise<'directory' | 'file' | undefined> {
  const info = await handle.fileInfo(path);
  if (info?.type !== 'link') return info && (info.type === 'directory' ? 'directory' : 'file');
  const below = await handle.fileInfo(`${path}/.`);
  return below ? 'directory' : 'file';
}

async function oneFile(onBytes: (bytes: number) => void, transfer: (options: TransferProgress) => Promise<void>): Promise<TransferReport> {
  let bytes = 0;
  await transfer({
    onBytes(piece) {
      bytes += piece;
      onBytes(piece);
    },
  });
  return { files: 1, bytes, failures: [], failed: 0 };
}

function tell(cli: Cli, { files, bytes, failures, failed }: TransferReport): void {
  printLine(cli, `${files} ${files === 1 ? 'file' : 'files'}, ${bytes} bytes.`);
  for (const { path, problem } of failures) printError(cli, visibleLine(`${path}: ${problem}`));
  if (failed > failures.length) printError(cli, `and ${failed - failures.length} more`);
  if (failed === 0) return;
  printError(cli, `${failed} could not be copied.`);
  cli.exitCode = EXIT.failed;
}
