import { Command } from 'commander';
import { createTurns } from '../../common/turns.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import type { Pty } from '../../sandbox/api/terminals.ts';
import { EXIT, printLine, type Cli } from '../output/cli.ts';
import { createDetachKeys } from './detach-keys.ts';
import { codeOf } from './exec.ts';
import { visit } from './visit.ts';

interface ShellOptions {
  attach?: string;
  cwd?: string;
  user?: string;
  force?: boolean;
}

/** Amount of a terminal's earlier output that is shown when a person attaches to it again. */
const SHOWN_AGAIN_BYTES = 16_384;
const LARGEST = 1000;

export function shellCommand(cli: Cli): Command {
  return new Command('shell')
    .description('Open a terminal in a sandbox. Ctrl-] (or ~. after Enter) detaches from it: it continues to run, and --attach returns to it')
    .argument('<id>', 'sandbox, or a conversation that has one')
    .argument('[command]', 'a bash command instead of a login shell')
    .option('--attach <terminal>', 'return to a detached terminal')
    .option('--cwd <directory>', 'where it begins')
    .option('--user <name>', 'run as this user of its template')
    .option('--force', 'even if the conversation is paused; its running command then continues')
    .action((id: string, command: string | undefined, options: ShellOptions) => {
      if (!cli.in.isTTY || !cli.out.isTTY) {
        throw failure('INVALID_ARGUMENT', { what: 'shell', problem: 'input and output are not a terminal', fix: 'Use: longshore sandbox exec' });
      }
      return visit(cli, id, { force: options.force ?? false }, (handle, { interrupted }) => talk(cli, handle, command, { ...options, interrupted }));
    });
}

type Talk = ShellOptions & {
  /** Aborts when the terminal is closed, or a service manager ends us: Ctrl-C is a key of the sandbox's terminal. */
  interrupted: AbortSignal;
};

async function talk(cli: Cli, handle: SandboxHandle, command: string | undefined, options: Talk): Promise<void> {
  // A person requested a terminal, so the sandbox's output controls the person's terminal.
  const screen = cli.out.program('never');
  const onData = (chunk: Buffer) => screen.put(chunk);
  const pty = options.attach === undefined ? await open(cli, handle, onData, command, options) : await attach(handle, options.attach, onData);
  const wire = connect(cli, pty);
  const { interrupted } = options;
  const leave = () => {
    cli.exitCode = EXIT.interrupted;
    pty.detach();
  };
  interrupted.addEventListener('abort', leave, { once: true });
  if (interrupted.aborted) leave();
  const end = await pty.ended
    .catch((error: unknown) => {
      if (isFailure(error, 'DETACHED')) return undefined;
      throw error;
    })
    .finally(() => {
      interrupted.removeEventListener('abort', leave);
      wire.cut();
    });
  if (end) cli.exitCode = codeOf(end);
  else printLine(cli, `\nDetached; it still runs. Come back with: longshore sandbox shell ${handle.sandboxId} --attach ${pty.ptyId}`);
}

function open(cli: Cli, handle: SandboxHandle, onData: (chunk: Buffer) => Promise<void>, command: string | undefined, options: ShellOptions): Promise<Pty> {
  const { cwd, user } = options;
  const given = { ...(command !== undefined && { command }), ...(cwd !== undefined && { cwd }), ...(user !== undefined && { user }) };
  return handle.openPty({ ...sizeOf(cli), onData, ...given });
}

async function attach(handle: SandboxHandle, ptyId: string, onData: (chunk: Buffer) => Promise<void>): Promise<Pty> {
  const known = (await handle.execs()).find(({ execId }) => execId === ptyId);
  if (!known) throw failure('EXEC_NOT_FOUND', { execId: ptyId, sandboxId: handle.sandboxId });
  return handle.attachPty(ptyId, { onData, from: Math.max(0, known.stdoutBytes - SHOWN_AGAIN_BYTES) });
}

/** Connects this terminal to that of the sandbox until it is cut: keys as they are typed, and every new size. */
function connect(cli: Cli, pty: Pty): { cut(): void } {
  const keys = createDetachKeys();
  const { inTurn } = createTurns();
  // Input is sent in order. A failure is ignored: the terminal has ended.
  const send = (work: () => Promise<void>) => void inTurn(work).catch(() => undefined);
  const onKeys = (bytes: Buffer) => {
    const { pass, detach } = keys.take(bytes);
    if (pass.length > 0) send(() => pty.write(pass));
    if (detach) void inTurn(async () => pty.detach());
  };
  const onResize = () => send(() => pty.resize(sizeOf(cli)));
  cli.in.setRawMode?.(true);
  cli.in.on('data', onKeys);
  cli.in.resume();
  cli.out.stream.on('resize', onResize);
  onResize();
  return {
    cut() {
      cli.in.off('data', onKeys);
      cli.out.stream.off('resize', onResize);
      cli.in.setRawMode?.(false);
      cli.in.pause();
    },
  };
}

function sizeOf({ out: { stream } }: Cli): { columns: number; rows: number } {
  const within = (size: number | undefined, usual: number) => Math.min(size === undefined || size < 1 ? usual : size, LARGEST);
  return { columns: within(stream.columns, 80), rows: within(stream.rows, 24) };
}
