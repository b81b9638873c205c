import { Command } from 'commander';
import { anySignal } from '../../common/any-signal.ts';
import { shortTime } from '../../common/short-time.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { ExecInfo } from '../../sandbox/api/commands.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import { printError, EXIT, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { wholeNumber } from '../output/whole-number.ts';
import { codeOf } from './exec.ts';
import { visit } from './visit.ts';

interface LogsOptions {
  from: number;
  fromStderr: number;
  json?: boolean;
  raw?: boolean;
  force?: boolean;
}

const COMMAND_LENGTH = 60;

export function logsCommand(cli: Cli): Command {
  return new Command('logs')
    .description('List the commands of a sandbox, or show the output of one and follow it to its end')
    .argument('<id>', 'sandbox, or a conversation that has one')
    .argument('[exec]', 'id of a command')
    .option('--from <bytes>', 'skip this many bytes of its output', wholeNumber, 0)
    .option('--from-stderr <bytes>', 'skip this many bytes of its error output', wholeNumber, 0)
    .option('--json', 'the list as JSON')
    .option('--raw', 'the bytes as they were written, for a file or a program; without, control characters are shown as escapes')
    .option('--force', 'even if the conversation is paused; its running command then continues')
    .action((id: string, execId: string | undefined, options: LogsOptions) =>
      visit(cli, id, { force: options.force ?? false }, async (handle, { readerGone }) => {
        if (execId === undefined) list(cli, await handle.execs(), options);
        else await follow(cli, handle, execId, { ...options, readerGone });
      }),
    );
}

function list(cli: Cli, execs: ExecInfo[], { json }: LogsOptions): void {
  if (json) return printJson(cli, execs);
  if (execs.length === 0) return printLine(cli, 'No commands.');
  const lines = execs.map((exec) => [
    exec.execId,
    exec.state,
    codeText(exec.result),
    exec.result ? `${(exec.result.durationMs / 1000).toFixed(1)} s` : '-',
    String(exec.stdoutBytes),
    String(exec.stderrBytes),
    shortTime(exec.startedAt),
    shortCommand(exec.command),
  ]);
  return printTable(cli, ['EXEC', 'STATE', 'CODE', 'TIME', 'OUT', 'ERR', 'STARTED', 'COMMAND'], lines);
}

function codeText(result: ExecInfo['result']): string {
  if (result === undefined) return '-';
  const { status, ...rest } = result;
  return status === 'failed' ? 'not started' : String(codeOf({ status, ...rest }));
}

function shortCommand(command: string): string {
  const line = command.replaceAll(/\s+/g, ' ').trim();
  return line.length > COMMAND_LENGTH ? `${line.slice(0, COMMAND_LENGTH - 1)}…` : line;
}

/** Ctrl-C detaches from the command, which continues. */
async function follow(cli: Cli, handle: SandboxHandle, execId: string, options: LogsOptions & { readerGone: AbortSignal }): Promise<void> {
  const { from, fromStderr, raw, readerGone } = options;
  if (!(await handle.execs()).some((exec) => exec.execId === execId)) throw failure('EXEC_NOT_FOUND', { execId, sandboxId: handle.sandboxId });
  const at = { stdout: from, stderr: fromStderr };
  const escape = raw ? 'never' : 'always';
  const [stdout, stderr] = [cli.out.program(escape), cli.err.program(escape)];
  const leaving = new AbortController();
  const release = cli.onInterrupt(() => leaving.abort());
  try {
    await handle.attach(execId, at, {
      signal: anySignal([leaving.signal, readerGone]),
      onStdout(chunk) {
        at.stdout += chunk.length;
        return stdout.put(chunk);
      },
      onStderr(chunk) {
        at.stderr += chunk.length;
        return stderr.put(chunk);
      },
    });
    await Promise.all([stdout.end(), stderr.end()]);
  } catch (error) {
    if (readerGone.aborted && isFailure(error, 'DETACHED')) return;
    if (!leaving.signal.aborted || !isFailure(error, 'DETACHED')) throw error;
    printError(cli, `\nIt runs on. Go on with: longshore sandbox logs ${handle.sandboxId} ${execId} --from ${at.stdout} --from-stderr ${at.stderr}`);
    cli.exitCode = EXIT.interrupted;
  } finally {
    release();
  }
}
