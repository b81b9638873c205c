import type { MethodCall } from './methods.ts';

export interface RunOptions {
  /** Names the exec inside the sandbox; the same id attaches to what was started first. Made up when absent. */
  execId?: string;
  /** Default the home of the user. */
  cwd?: string;
  env?: Record<string, string>;
  /** A user that the template declares, default `user`; such a command begins in the home of that user. `USER_NOT_FOUND` names those there are. */
  user?: string;
  /** Milliseconds in which the sandbox was not frozen; then TERM, and KILL 2 s later, to the whole tree. Default 60 000; 0 never. */
  timeoutMs?: number;
  /** Given to the command, a stream piece by piece as it comes and no longer than the command runs; without it stdin is empty. */
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Bytes kept per stream; what comes after is counted and dropped. Default 64 MiB. */
  maxOutputBytes?: number;
  /** A promise that it returns holds back the output. */
  onStdout?: (chunk: Buffer) => unknown;
  onStderr?: (chunk: Buffer) => unknown;
  /** Aborting lets go of the exec (it runs on) and rejects with `DETACHED`. */
  signal?: AbortSignal;
  /** Lets the command's code call tools. Told of each call while somebody is attached; calls without an answer are told again to whoever attaches. */
  onMethodCall?: (call: MethodCall) => void;
  /** The command was started before, so its code may be waiting for an answer: its calls are followed from the first moment on. */
  isBegun?: boolean;
}

export interface StartOptions extends RunOptions {
  /** The text `open`: what `writeStdin` gives, until `closeStdin`. Anything else is given in the background, after `start` has resolved; the four bytes "open" as a Buffer. */
  stdin?: NonNullable<RunOptions['stdin']>;
  /** Told why a stream could not be given whole; the command is ended then. */
  onStdinError?: (error: unknown) => void;
}

/** How a command ended. A non-zero exit, a timeout and a kill are values, not errors. */
export interface CommandResult {
  execId: string;
  /** `exited`: it ended by itself, be it by a signal. `killed`: it was ended on request. */
  /** `concluded`: it was ended at a call that it made of a tool. */
  status: 'exited' | 'timeout' | 'killed' | 'concluded';
  /** Number of that call. */
  concludedBy?: number;
  /** Absent when a signal ended it. */
  exitCode?: number;
  /** Name of the signal that ended it, such as `SIGKILL`. */
  signal?: string;
  /**
   * What the sandbox had no more of. `memory`: the kernel ended one of its processes while this failed. `disk`: its files took up more than they may,
   * and the commands that ran were ended.
   */
  limit?: 'memory' | 'disk';
  /** Head and tail when longer than `previewBytes`. */
  stdout: OutputPreview;
  stderr: OutputPreview;
  durationMs: number;
}

export interface OutputPreview {
  text: string;
  /** Bytes the command wrote. */
  totalBytes: number;
  /** True when `text` is not all of it. */
  truncated: boolean;
  /** Bytes at the end that were not kept anywhere, and not given to `onStdout` and `onStderr`: beyond `maxOutputBytes`, or on a full disk. Absent for none. */
  droppedBytes?: number;
  /** Where the whole is, inside the sandbox, but for those. */
  path: string;
}

export type ExecSignal = 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT' | 'SIGUSR1' | 'SIGUSR2' | 'SIGSTOP' | 'SIGCONT';

export interface ExecInfo {
  execId: string;
  command: string;
  /** `lost`: it was running when its container died; what it wrote until then is kept. */
  state: 'running' | 'ended' | 'lost';
  /** `failed`: it could not be started, for the reason in `problem`. */
  result?: Pick<CommandResult, 'exitCode' | 'signal' | 'limit' | 'durationMs' | 'concludedBy'> & {
    status: CommandResult['status'] | 'failed';
    problem?: string;
  };
  stdoutBytes: number;
  stderrBytes: number;
  /** Where all of its output is, inside the sandbox. Absent where the sandbox was made by an earlier version. */
  stdoutPath?: string;
  stderrPath?: string;
  startedAt: string;
}

export interface AsStarted {
  /** Follows what was started under `execId`, whatever it was started with, and starts nothing. */
  asStarted?: boolean;
}

/** Runs and follows commands. */
export interface SandboxCommands {
  /** Runs a bash command to its end. A sandbox runs 100 at once; further ones wait until others have ended, and their time counts from their start. */
  run(command: string, options?: RunOptions): Promise<CommandResult>;
  /** Starts a command that runs on by itself; the same `execId` twice is one command. */
  start(command: string, options?: StartOptions): Promise<ExecInfo>;
  /** Follows an exec from byte offsets to its end. */
  attach(execId: string, from?: { stdout: number; stderr: number }, options?: Pick<RunOptions, 'onStdout' | 'onStderr' | 'signal'>): Promise<CommandResult>;
  /** Resolves when the command's pipe has taken it all. @throws STDIN_CLOSED when the command has ended */
  writeStdin(execId: string, data: string | Uint8Array, options?: { end?: boolean }): Promise<void>;
  /** The command reads the end of its input. */
  closeStdin(execId: string): Promise<void>;
  /** Signals the whole tree of an exec. `SIGTERM`, the default, is followed by `SIGKILL` after 2 s; only with these two its status becomes `killed`. Returns false when it had ended. */
  kill(execId: string, signal?: ExecSignal): Promise<boolean>;
  execs(): Promise<ExecInfo[]>;
  /** Forgets an ended exec and its output. */
  forget(execId: string): Promise<void>;
}
