import { Command } from 'commander';
import { parseDuration } from '../../common/duration.ts';
import { shellWord } from '../../common/shell-quoted.ts';
import { failure } from '../../contracts/errors.ts';
import { freeExec } from '../../contracts/call-ids.ts';
import type { CommandResult, RunOptions } from '../../sandbox/api/commands.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import { printError, EXIT, printLine, type Cli } from '../output/cli.ts';
import { visit } from './visit.ts';

interface ExecOptions {
  cwd?: string;
  user?: string;
  env: Record<string, string>;
  timeout?: string;
  background?: boolean;
  raw?: boolean;
  force?: boolean;
}

/** Output beyond this limit, per stream, is counted and not shown. */
const MAX_OUTPUT_BYTES = 1024 ** 3;
const TIMED_OUT = 124;
/** Numbers of Linux, which runs the command; this machine may have others. */
const SIGNALS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGSTKFLT: 16,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGVTALRM: 26,
  SIGPROF: 27,
  SIGIO: 29,
  SIGPWR: 30,
  SIGSYS: 31,
};

export function execCommand(cli: Cli): Command {
  return new Command('exec')
    .description(
      'Run a command in a sandbox: passes on the input of this program, unless that is a terminal, and ends with the exit code of the command. Ctrl-C interrupts the command, a second Ctrl-C ends it',
    )
    .argument('<id>', 'sandbox, or a conversation that has one')
    .argument('<command...>', 'one text is a bash command; several are a program and its arguments; put -- before them')
    .option('--cwd <directory>', 'where it begins')
    .option('--user <name>', 'run as this user of its template')
    .option('--env <name=value>', 'variable of its environment; may be repeated', withVariable, {})
    .option('--timeout <duration>', 'ends it after that time, with exit code 124')
    .option('--raw', 'write its bytes unchanged to a terminal too, which executes control characters; without it, they are shown as escapes')
    .option('--background', 'start it, print its id, and let it run')
    .option('--force', 'even if the conversation is paused; its running command then continues')
    .action((id: string, words: string[], options: ExecOptions) =>
      visit(cli, id, { force: options.force ?? false }, async (handle, { readerGone }) => {
        const command = words.length === 1 ? (words[0] ?? '') : words.map(shellWord).join(' ');
        if (options.background) await begin(cli, handle, command, options);
        else cli.exitCode = await follow(cli, handle, command, { ...options, readerGone });
      }),
    );
}

function withVariable(text: string, before: Record<string, string>): Record<string, string> {
  const [, name, value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw failure('INVALID_ARGUMENT', { what: '--env', problem: `"${text}" is no variable`, fix: 'Write NAME=value' });
  return { ...before, [name]: value };
}

async function begin(cli: Cli, handle: SandboxHandle, command: string, options: ExecOptions): Promise<void> {
  const { execId } = await handle.start(command, runOptions(options));
  printLine(cli, execId);
  printError(cli, `See it with: longshore sandbox logs ${handle.sandboxId} ${execId}`);
}

async function follow(cli: Cli, handle: SandboxHandle, command: string, options: ExecOptions & { readerGone: AbortSignal }): Promise<number> {
  const execId = freeExec();
  const escape = options.raw ? 'never' : 'on-terminal';
  const [stdout, stderr] = [cli.out.program(escape), cli.err.program(escape)];
  const { readerGone } = options;
  let interrupts = 0;
  // The command may not have begun, or may have ended.
  const end = (signal: 'SIGINT' | 'SIGTERM') => void handle.kill(execId, signal).catch(() => undefined);
  const release = cli.onInterrupt(() => end((interrupts += 1) === 1 ? 'SIGINT' : 'SIGTERM'));
  // A command on this machine ends at a pipe that no process reads; the pipe of this one is ours.
  readerGone.addEventListener('abort', () => end('SIGTERM'));
  try {
    const result = await handle.run(command, {
      ...runOptions(options),
      execId,
      ...(!cli.in.isTTY && { stdin: cli.in as AsyncIterable<Uint8Array> }),
      onStdout: (chunk) => stdout.put(chunk),
      onStderr: (chunk) => stderr.put(chunk),
    });
    await Promise.all([stdout.end(), stderr.end()]);
    if (readerGone.aborted) return EXIT.done;
    tellLimits(cli, result);
    return interrupts > 0 ? EXIT.interrupted : codeOf(result);
  } finally {
    release();
    // An input that no process closes would keep this process alive.
    if (!cli.in.isTTY) cli.in.destroy();
  }
}

function runOptions({ cwd, env, timeout, user }: ExecOptions): RunOptions {
  return {
    env,
    timeoutMs: timeout === undefined ? 0 : parseDuration(timeout),
    maxOutputBytes: MAX_OUTPUT_BYTES,
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
  };
}

function tellLimits(cli: Cli, { limit, status, stdout, stderr }: CommandResult): void {
  if (status === 'timeout') printError(cli, 'longshore: the time limit was reached');
  if (limit !== undefined) printError(cli, `longshore: the sandbox had no ${limit === 'disk' ? 'space left on its disk' : 'memory left'}`);
  for (const { totalBytes } of [stdout, stderr]) {
    if (totalBytes > MAX_OUTPUT_BYTES) printError(cli, `longshore: only the first ${MAX_OUTPUT_BYTES} of ${totalBytes} bytes were kept`);
  }
}

/** The exit code of a command's end, as shells return it. */
export function codeOf({ status, exitCode, signal }: { status: CommandResult['status']; exitCode?: number; signal?: string }): number {
  if (status === 'timeout') return TIMED_OUT;
  return exitCode ?? 128 + (SIGNALS[signal ?? ''] ?? 0);
}
