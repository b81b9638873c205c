import type { SandboxTier } from '../contracts/conversation.ts';
import type { SandboxOptions } from '../contracts/agent.ts';

export interface RunOptions {
  /** Names the exec inside the sandbox; the same id attaches to what was started first. Made up when absent. */
  execId?: string;
  /** Default `/home/user`. */
  cwd?: string;
  env?: Record<string, string>;
  /** Milliseconds in which the sandbox was not frozen; then TERM, and KILL 2 s later, to the whole tree. Default 60 000; 0 never. */
  timeoutMs?: number;
  /** Bytes or text given to the command; without it stdin is empty. */
  stdin?: string | Uint8Array;
  /** Bytes kept per stream; what comes after is counted and dropped. Default 64 MiB. */
  maxOutputBytes?: number;
  onStdout?: (chunk: Buffer) => void;
  onStderr?: (chunk: Buffer) => void;
  /** Aborting lets go of the exec (it runs on) and rejects with `DETACHED`. */
  signal?: AbortSignal;
}

/** How a command ended. A non-zero exit, a timeout and a kill are values, not errors. */
export interface CommandResult {
  execId: string;
  /** `exited`: it ended by itself, be it by a signal. `killed`: it was ended on request. */
  status: 'exited' | 'timeout' | 'killed';
  /** Absent when a signal ended it. */
  exitCode?: number;
  /** Name of the signal that ended it, such as `SIGKILL`. */
  signal?: string;
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
  /** Where the whole is, inside the sandbox. */
  path: string;
}

export interface ExecInfo {
  execId: string;
  command: string;
  /** `lost`: it was running when its container died; what it wrote until then is kept. */
  state: 'running' | 'ended' | 'lost';
  result?: Pick<CommandResult, 'status' | 'exitCode' | 'signal' | 'durationMs'>;
  stdoutBytes: number;
  stderrBytes: number;
  startedAt: string;
}

export interface FileInfo {
  path: string;
  type: 'file' | 'directory' | 'link' | 'other';
  size: number;
  /** Permission bits, as in `0o644`. */
  mode: number;
  modifiedAt: string;
  linkTarget?: string;
}

/**
 * One running sandbox. Every method wakes a frozen or stopped sandbox first.
 * All errors are `LongshoreError`s; `SANDBOX_LOST` says that the container died.
 */
export interface SandboxHandle {
  readonly sandboxId: string;
  /** Runs a bash command to its end. */
  run(command: string, options?: RunOptions): Promise<CommandResult>;
  /** Starts a command that runs on by itself; the same `execId` twice is one command. */
  start(command: string, options?: RunOptions): Promise<ExecInfo>;
  /** Follows an exec from byte offsets to its end. */
  attach(execId: string, from?: { stdout: number; stderr: number }, options?: Pick<RunOptions, 'onStdout' | 'onStderr' | 'signal'>): Promise<CommandResult>;
  writeStdin(execId: string, data: string | Uint8Array, options?: { end?: boolean }): Promise<void>;
  /** Signals the whole tree of an exec. `SIGTERM` is followed by `SIGKILL` after 2 s. Returns false when it had ended. */
  kill(execId: string, signal?: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<boolean>;
  execs(): Promise<ExecInfo[]>;
  /** Forgets an ended exec and its output. */
  forget(execId: string): Promise<void>;
  readFile(path: string, options?: { maxBytes?: number }): Promise<Buffer>;
  /** Creates missing directories; atomic (written beside, then renamed). */
  writeFile(path: string, data: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  listFiles(path: string, options?: { recursive?: boolean; maxEntries?: number }): Promise<FileInfo[]>;
  fileInfo(path: string): Promise<FileInfo | undefined>;
  removeFile(path: string, options?: { recursive?: boolean }): Promise<void>;
  createDirectory(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
}

/** The sandboxes of one worker's engine. Lifecycle operations are idempotent and safe against other workers. */
export interface Sandboxes {
  /** Creates the conversation's sandbox or wakes the one it has; a lost one is rebuilt on its old files. */
  open(owner: SandboxOwner, options: SandboxOptions): Promise<OpenedSandbox>;
  freeze(sandboxId: string): Promise<SandboxTier>;
  /**
   * Puts a sandbox to disk with its processes, which go on when it wakes. Where the host or the container cannot, it is stopped, or left as it is
   * with `otherwise: 'stay'`; returns the tier it really has.
   */
  hibernate(sandboxId: string, options?: { otherwise: 'stop' | 'stay' }): Promise<SandboxTier>;
  /** Brings it to `running` from any tier of rest. */
  wake(sandboxId: string): Promise<SandboxTier>;
  /** Ends the container, keeps the files. */
  stop(sandboxId: string): Promise<SandboxTier>;
  /** Removes container and volume. */
  destroy(sandboxId: string): Promise<void>;
  /** Tier by the row, checked against the engine. */
  tier(sandboxId: string): Promise<SandboxTier>;
  /** What this host's engine can do, found out by trying it; the first call takes some seconds where there is gVisor. */
  capabilities(): Promise<SandboxCapabilities>;
  /** Removes containers and volumes of this host that no row owns, and marks rows whose container is gone as lost. */
  reap(): Promise<{ removedContainers: string[]; removedVolumes: string[]; lost: string[] }>;
  /** Lets go of all connections; sandboxes run on. */
  [Symbol.asyncDispose](): Promise<void>;
}
/** What a host can do for its sandboxes. */
export interface SandboxCapabilities {
  /** Containers run in gVisor. */
  gvisor: boolean;
  /** Such a container can be put to disk with its processes and woken again. */
  checkpoint: boolean;
  /** Why one of them is not there. */
  problem?: string;
}
export interface SandboxOwner {
  /** Deterministic: derived from the conversation id. */
  sandboxId: string;
  conversationId?: string;
  tenantId: string;
}
export interface OpenedSandbox {
  handle: SandboxHandle;
  /** What an earlier life of this sandbox lost, to be told to the model; absent when nothing was. */
  lost?: string;
}
