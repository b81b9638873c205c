import type { MethodCall } from './methods.ts';

export interface RunOptions {
  /** Id of the exec in the sandbox. When an exec with this id exists, the call attaches to it and starts nothing. Default: a new id. */
  execId?: string;
  /** Default: `workDirectory` of the sandbox for the user `user`, otherwise the home of the user. Relative paths start at the home. */
  cwd?: string;
  env?: Record<string, string>;
  /** A user that the template declares. Default `user`. The error `USER_NOT_FOUND` lists the existing users. */
  user?: string;
  /**
   * Time limit in milliseconds; time in which the sandbox is frozen does not count. Then all processes of the command get SIGTERM, and SIGKILL 2 s later.
   * Default 60 000. 0: no limit.
   */
  timeoutMs?: number;
  /** Input of the command. A stream is sent piece by piece, until the command ends. Default: empty. */
  stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Bytes that are kept of each of stdout and stderr. Further bytes are counted and dropped. Default 64 MiB. */
  maxOutputBytes?: number;
  /** Output is held back while a returned promise is pending: at most 512 KiB more are delivered until it is settled. */
  onStdout?: (chunk: Buffer) => unknown;
  onStderr?: (chunk: Buffer) => unknown;
  /** Aborting it detaches from the exec, which continues to run. The call rejects with `DETACHED`. */
  signal?: AbortSignal;
  /** Permits the command's code to call tools. Called for each call while the caller is attached; unanswered calls are reported again after each new attach. */
  onMethodCall?: (call: MethodCall) => void;
  /** The command was started earlier, so its code may already wait for an answer: its calls are followed at once, without a short delay. */
  isBegun?: boolean;
}

export interface StartOptions extends RunOptions {
  /**
   * The text `open`: the command reads what `writeStdin` sends, until `closeStdin`. Any other value is sent in the background after `start` has resolved.
   * To send the four bytes "open" themselves, give them as a Buffer.
   */
  stdin?: NonNullable<RunOptions['stdin']>;
  /** When the input could not be sent completely, the command is killed, and then this is called with the error. */
  onStdinError?: (error: unknown) => void;
}

/** How a command ended. A non-zero exit, a timeout and a kill are values, not errors. */
export interface CommandResult {
  execId: string;
  /**
   * `exited`: it ended by itself or by a signal. `killed`: it was ended by a requested SIGTERM or SIGKILL. `concluded`: it was ended at a call that it made
   * of a tool.
   */
  status: 'exited' | 'timeout' | 'killed' | 'concluded';
  /** Number of the tool call that ended it. Only with `concluded`. */
  concludedBy?: number;
  /** Absent when a signal ended it. */
  exitCode?: number;
  /** Name of the signal that ended it, such as `SIGKILL`. */
  signal?: string;
  /**
   * The limit of the sandbox that was reached. `memory`: the kernel killed a process of the sandbox for lack of memory while this command ran, and the command
   * failed. `disk`: the files of the sandbox take up more than they may; the command was ended, or it failed because it could not write.
   */
  limit?: 'memory' | 'disk';
  /** Only head and tail when the output is longer than 16 KiB. */
  stdout: OutputPreview;
  stderr: OutputPreview;
  durationMs: number;
}

export interface OutputPreview {
  text: string;
  /** Bytes that the command wrote. */
  totalBytes: number;
  /** True when `text` is not the whole output. */
  truncated: boolean;
  /**
   * Bytes at the end that are not stored anywhere and were not given to `onStdout` or `onStderr`: they exceeded `maxOutputBytes`, or the disk was full.
   * Absent when there are none.
   */
  droppedBytes?: number;
  /** Path inside the sandbox of the whole output without the dropped bytes. */
  path: string;
}

export type ExecSignal = 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT' | 'SIGUSR1' | 'SIGUSR2' | 'SIGSTOP' | 'SIGCONT';

export interface ExecInfo {
  execId: string;
  command: string;
  /** `lost`: it was running when its container died. What it had written by then is kept. */
  state: 'running' | 'ended' | 'lost';
  /** `failed`: it could not be started; `problem` is the reason. */
  result?: Pick<CommandResult, 'exitCode' | 'signal' | 'limit' | 'durationMs' | 'concludedBy'> & {
    status: CommandResult['status'] | 'failed';
    problem?: string;
  };
  stdoutBytes: number;
  stderrBytes: number;
  /** Path inside the sandbox of everything that is kept of the stream. Absent when the sandbox was created by an earlier version. */
  stdoutPath?: string;
  stderrPath?: string;
  startedAt: string;
}

export interface AsStarted {
  /** Attaches to the exec `execId`, even if it was started with other options. Never starts one. */
  asStarted?: boolean;
}

/** Runs and follows commands. */
export interface SandboxCommands {
  /** Runs a bash command to its end. A sandbox runs 100 at once. Further commands wait until others have ended; their time limit counts from their start. */
  run(command: string, options?: RunOptions): Promise<CommandResult>;
  /** Starts a command and does not wait for its end. Two calls with the same `execId` are one command. */
  start(command: string, options?: StartOptions): Promise<ExecInfo>;
  /** Follows an exec to its end. Output is delivered from the byte offsets `from`; default: from its beginning. */
  attach(execId: string, from?: { stdout: number; stderr: number }, options?: Pick<RunOptions, 'onStdout' | 'onStderr' | 'signal'>): Promise<CommandResult>;
  /** Resolves when all bytes are in the command's pipe. @throws STDIN_CLOSED when the command has ended */
  writeStdin(execId: string, data: string | Uint8Array, options?: { end?: boolean }): Promise<void>;
  /** Ends the input of the command. */
  closeStdin(execId: string): Promise<void>;
  /**
   * Signals all processes of an exec. `SIGTERM`, the default, is followed by `SIGKILL` after 2 s. Only these two set the status to `killed`. Returns false when
   * no process of the exec is left.
   */
  kill(execId: string, signal?: ExecSignal): Promise<boolean>;
  execs(): Promise<ExecInfo[]>;
  /** Deletes an ended exec and its output. */
  forget(execId: string): Promise<void>;
}
