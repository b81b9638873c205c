import type { Json, JsonObject } from '../../contracts/json.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import type { FileContent, FileEdit, FileInfo, FileToWrite, FileWatch, TransferProgress, TransferReport, WriteFileOptions } from './files.ts';
import type { SandboxCapabilities, SandboxSample, WarmPool } from '../../contracts/host-facts.ts';
import type { SandboxSnapshots } from './snapshots.ts';
import type { Pty, PtyFollow, PtyOptions } from './terminals.ts';

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

/** A call of a tool by code in the sandbox. What it asks for is the guest's, and nothing of it was checked. */
export interface MethodCall {
  execId: string;
  /** The n-th call of its exec, for ever. */
  number: number;
  tool: string;
  arguments: JsonObject;
  /** A worker was told of it before, this one or another, and may have acted on it. */
  repeated: boolean;
}
/** Becomes the value of the call in the guest's language, or an exception. */
export type MethodAnswer = { ok: Json } | { error: { code: string; message: string } };

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

/**
 * One running sandbox. Every method wakes a frozen or stopped sandbox first.
 * All errors are `LongshoreError`s; `SANDBOX_LOST` says that the container died.
 */
export interface SandboxHandle {
  readonly sandboxId: string;
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
  /** Answers a call that an exec's code made of a tool; only the first answer counts. */
  answerMethod(execId: string, number: number, answer: MethodAnswer): Promise<void>;
  /** Stops the time limit of an exec until the call is answered; returns how many calls of the exec have been held, in the order of their first time. */
  holdMethod(execId: string, number: number): Promise<number>;
  /** Ends an exec at a call that its code made: no code of it runs after that. */
  concludeAt(execId: string, number: number): Promise<void>;
  /** Forgets an ended exec and its output. */
  forget(execId: string): Promise<void>;
  readFile(path: string, options?: { maxBytes?: number }): Promise<Buffer>;
  /** As text; `auto` takes the encoding that the file seems to have. Bytes that the encoding does not know are an error. */
  readFile(path: string, options: { encoding: string; maxBytes?: number }): Promise<string>;
  /** A file of any size, piece by piece; a file that is changed meanwhile is an error. */
  readFileStream(path: string, options?: { offset?: number; maxBytes?: number }): AsyncIterable<Buffer>;
  /** Atomic (written beside, then renamed), streams too. Missing directories are made unless `createDirectories` is false. */
  writeFile(path: string, data: FileContent, options?: WriteFileOptions): Promise<void>;
  /** Writes several, some at a time, each as `writeFile` does. When one cannot be written the others are still, and the first error is thrown. */
  writeFiles(files: FileToWrite[]): Promise<void>;
  /**
   * Replaces text that must be there exactly once; the file keeps its encoding and line ends. An empty `oldText` creates a file where there is
   * none, an empty `newText` takes the text out.
   */
  editFile(path: string, edit: { oldText: string; newText: string }): Promise<FileEdit>;
  /**
   * With `pattern`: only names that fit, or paths below `path` where the pattern has a `/`. More than 10 000 are an error; with `maxEntries`, up to 100 000,
   * the list ends there.
   */
  listFiles(path: string, options?: { recursive?: boolean; pattern?: string; maxEntries?: number }): Promise<FileInfo[]>;
  /**
   * Paths that fit a pattern: `*` and `?` within a name, `[a-z]`, `{a,b}`, `**` for any number of directories. Relative patterns start at
   * `cwd` (default `/home/user`) and give relative paths. Names that begin with a dot need a pattern that says so, or `hidden`.
   * More than `maxEntries` (default 10 000) are an error.
   */
  glob(pattern: string, options?: { cwd?: string; hidden?: boolean; maxEntries?: number }): Promise<string[]>;
  fileExists(path: string): Promise<boolean>;
  /** About a link itself, not what it leads to. */
  fileInfo(path: string): Promise<FileInfo | undefined>;
  removeFile(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** No error where there is one already. `parents` (default true) also makes what is missing above. */
  createDirectory(path: string, options?: { parents?: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  uploadFile(localPath: string, path: string, options?: TransferProgress & { mode?: number }): Promise<void>;
  /** Written beside `localPath`, then renamed. */
  downloadFile(path: string, localPath: string, options?: TransferProgress): Promise<void>;
  /** Merges into `path` and deletes nothing. Links and special files are not copied; they and what fails are reported. */
  uploadDirectory(localPath: string, path: string, options?: TransferProgress): Promise<TransferReport>;
  /** The same in the other direction. `maxBytes` (default 16 GiB) bounds what the guest can make this machine store. */
  downloadDirectory(path: string, localPath: string, options?: TransferProgress & { maxBytes?: number }): Promise<TransferReport>;
  /** Resolves when the watch is in place. Ends when what is watched is removed. */
  watch(path: string, options?: { recursive?: boolean }): Promise<FileWatch>;
  /** Starts a program in a terminal of its own. It lives on when nobody is attached. */
  openPty(options: PtyOptions & PtyFollow): Promise<Pty>;
  /** Attaches to a terminal that was opened before, here or by another process. */
  attachPty(ptyId: string, options: PtyFollow & { from?: number }): Promise<Pty>;
  /**
   * Runs a piece of code. With `contextId` its variables live on for the next piece (python, javascript, typescript); without, it has a
   * process of its own. The same `execId` twice is one run. Failing code is a value, not an error.
   */
  runCode(code: string, options: Omit<RunCodeOptions, 'language'> & { language: CodeLanguage | CodeLanguageAlias }): Promise<CodeResult>;
  /**
   * Interrupts what a context runs now, as Ctrl-C does; its variables stay. JavaScript heeds it only where it waits: restart it, or give it a
   * time limit. False when there is no such context.
   */
  interruptCode(context: CodeContext): Promise<boolean>;
  /** The contexts that run, of all users. */
  codeContexts(): Promise<CodeContextInfo[]>;
  /** Ends a context with all its variables; the next piece of code begins a new one. */
  restartCode(context: CodeContext): Promise<void>;
  /**
   * Makes a request of an MCP server that lives in the sandbox, and starts the server where it does not run. The same `execId` twice is one request:
   * the second is given the answer of the first.
   */
  callServer(server: SandboxServer, request: ServerRequest, options?: ServerRequestOptions): Promise<ServerAnswer>;
  /** Runs a call of a plugin's tool, whose code comes with it, in a Node of the sandbox. The same `execId` twice is one run. */
  runTool(request: ToolRequest, options: RunToolOptions): Promise<CommandResult>;
  /**
   * A text that is another one as soon as the tools of an MCP server in the sandbox may be others; empty while they are those that it began with.
   * Undefined where it does not run.
   */
  serverMark(name: string): Promise<string | undefined>;
  /** Ends the MCP servers in the sandbox, with what they have started, but for those of these names. Returns the names of those it ended. */
  endServers(except: string[]): Promise<string[]>;
}

/** What guest/run_tool.cjs is given. */
export interface ToolRequest {
  /** The tool's id, by which the exec is listed. */
  name: string;
  /** A CommonJS module that exports `run`. */
  code: string;
  /** For `run`. */
  call: JsonObject;
}
export interface RunToolOptions extends Pick<RunOptions, 'signal' | 'isBegun'>, AsStarted {
  execId: string;
  timeoutMs: number;
  /** Given what it tells the worker, lines of JSON, from the beginning. */
  onTold: (chunk: Buffer) => void;
  onPrint: (chunk: Buffer) => void;
  /** Told what it asks of the worker. */
  onMethodCall: (call: MethodCall) => void;
}

export interface AsStarted {
  /** Follows what was started under `execId`, whatever it was started with, and starts nothing. */
  asStarted?: boolean;
}

/** A program that speaks the Model Context Protocol over its stdin and stdout. */
export interface SandboxServer {
  /** A sandbox has one of each name. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Relative ones start at `/home/user`, the default. */
  directory?: string;
}
export interface ServerRequest {
  method: string;
  params: JsonObject;
}
export interface ServerRequestOptions extends Pick<RunOptions, 'execId' | 'timeoutMs' | 'signal'>, AsStarted {
  onProgress?: (line: string) => void;
  /** Told when the server was started anew, with the reason: what it had in its memory is gone. */
  onRestart?: (why: string) => Promise<void>;
}
/** `refused`: an error of the server. `absent`: there was no server, and nothing was asked. `gone`: it ended in the midst of it. A server is told of a request that runs out of time or is killed. */
export type ServerAnswer =
  | { outcome: 'answered'; result: JsonObject; server: { name: string; version: string } }
  | { outcome: 'refused'; code: number; message: string }
  | { outcome: 'absent' | 'gone'; why: string }
  | { outcome: 'timeout' | 'killed' };

export type CodeLanguage = 'python' | 'javascript' | 'typescript' | 'bash';
/** Short names that are taken for a language. */
export type CodeLanguageAlias = 'py' | 'js' | 'ts' | 'sh';
export interface CodeContext {
  language: CodeLanguage;
  /** Up to 40 letters, digits, `_`, `.` and `-`. JavaScript and TypeScript share their contexts. */
  contextId: string;
  /** Default `user`. Each has contexts of its own. */
  user?: string;
}
/** A context that runs. JavaScript and TypeScript share theirs. */
export interface CodeContextInfo extends CodeContext {
  language: 'python' | 'javascript';
  startedAt: string;
}
export interface RunCodeOptions extends Pick<RunOptions, 'execId' | 'cwd' | 'user' | 'env' | 'timeoutMs' | 'signal' | 'onMethodCall' | 'isBegun'>, AsStarted {
  language: CodeLanguage;
  contextId?: string;
  /**
   * What aborting the `signal` does. `interrupt`, the default: the code is ended as by `interruptCode`, which frees its context for the next piece, and the call rejects with
   * `INTERRUPTED`. `detach`: the code runs on, and the call rejects with `DETACHED`.
   */
  onAbort?: 'interrupt' | 'detach';
  /** Called for what the code prints, as it comes. */
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Called for each value, as it comes. */
  onResult?: (value: CodeValue) => void;
}
/** One value in all the forms in which it can be shown, by media type: texts, base 64 for images, JSON as it is. */
export type CodeValue = Record<string, Json>;
export interface CodeResult {
  execId: string;
  contextId?: string;
  /** `gone`: its process ended in the middle of it (killed, out of memory), and with it the context. */
  status: 'finished' | 'failed' | 'interrupted' | 'timeout' | 'gone' | 'concluded';
  /** Number of the call of a tool that ended it; goes with `concluded`. */
  concludedBy?: number;
  stdout: string;
  stderr: string;
  /** True when `stdout`, `stderr` or `values` are not all there was: 32 768 characters of each end, 100 values, 20 MB of them together. Write more to a file. */
  truncated: boolean;
  /** What is neither in `stdout` and `stderr` nor in `values`, and kept nowhere; what is left out within a text is said there. Absent for nothing. */
  leftOut?: { values: number; /** Of output and values that the interpreter did not pass on. */ bytes: number };
  /** Of bash: where the whole of a stream is, inside the sandbox, when it was cut. */
  stdoutPath?: string;
  stderrPath?: string;
  values: CodeValue[];
  error?: { type: string; message: string; traceback: string };
  /** 1 for the first piece of a context: nothing of earlier pieces is there. */
  executionCount?: number;
  durationMs: number;
}

/** The sandboxes of one worker's engine. Lifecycle operations are idempotent and safe against other workers. */
export interface Sandboxes extends SandboxSnapshots {
  /** Creates the conversation's sandbox or wakes the one it has; a lost one is rebuilt on its old files. */
  open(owner: SandboxOwner, options: SandboxOptions): Promise<OpenedSandbox>;
  /** Returns the tier it really has: `running` where work in progress keeps it awake. */
  freeze(sandboxId: string, options?: FreezeOptions): Promise<SandboxTier>;
  /**
   * Puts a sandbox to disk with its processes, which go on when it wakes. Where the host or the container cannot, it is stopped, or left as it is
   * with `otherwise: 'stay'`; returns the tier it really has.
   */
  hibernate(sandboxId: string, options?: { otherwise: 'stop' | 'stay' }): Promise<SandboxTier>;
  /** Brings it to `running` from any tier of rest. */
  wake(sandboxId: string): Promise<SandboxTier>;
  /** Ends the container, keeps the files. */
  stop(sandboxId: string): Promise<SandboxTier>;
  /**
   * Packs a sandbox into the blob store and removes it from this host; any access brings it back, on whichever host that is. Processes come along where
   * they can be put to disk and copied; else they end, or the sandbox stays with `otherwise: 'stay'`. Returns the tier it really has.
   */
  archive(sandboxId: string, options?: { otherwise: 'stop' | 'stay' }): Promise<SandboxTier>;
  /** Removes container, volume and archive. Snapshots with a name stay. */
  destroy(sandboxId: string): Promise<void>;
  /** Tier by the row, checked against the engine. */
  tier(sandboxId: string): Promise<SandboxTier>;
  /** What this host's engine can do, found out by trying it; the first call takes some seconds where there is gVisor. */
  capabilities(): Promise<SandboxCapabilities>;
  /**
   * Keeps sandboxes ready that conversations take over in a few milliseconds; in the background, until it is disposed. Then those that nobody else keeps
   * are removed. Absent in backends that make every sandbox when it is asked for.
   */
  keepWarm?(pools: WarmPool[]): AsyncDisposable;
  /** Removes containers, volumes, blobs and outdated snapshots of this host that no row owns, and marks rows whose container is gone as lost. */
  reap(): Promise<{ removedContainers: string[]; removedVolumes: string[]; lost: string[] }>;
  /**
   * What the running sandboxes of this host use, or one of them; with `disk`, which costs the engine more, their files too, and what hibernated and stopped ones have on disk.
   * Absent in backends that cannot tell.
   */
  measure?(options: { disk: boolean; sandboxId?: string }): Promise<SandboxSample[]>;
  /**
   * Replaces the rules about the hosts that a sandbox may reach. They hold at once for connections of this process, and for another one when it connects to
   * the sandbox again. Absent in backends without such rules.
   */
  setEgress?(sandboxId: string, rules: NonNullable<SandboxOptions['egress']>): Promise<void>;
  /** Lets go of all connections; sandboxes run on. */
  [Symbol.asyncDispose](): Promise<void>;
}
export interface FreezeOptions {
  /**
   * What happens to operations in progress: commands that somebody follows, code, transfers. `idle`, the default: they come first, and keep the sandbox
   * awake or thaw it again. `pause`: they stand still with it, and their callers wait until it is woken.
   */
  mode?: 'idle' | 'pause';
}
export interface SandboxOwner {
  /** Deterministic: derived from the conversation id. */
  sandboxId: string;
  conversationId?: string;
  tenantId: string;
  /** Milliseconds until a new sandbox expires: somebody's reaper destroys it then. Never when absent. */
  ttlMs?: number;
  /** Whether one with another id will do as well, such as one that is kept warm. A conversation finds its sandbox under any id. */
  anyId?: boolean;
}
export interface OpenedSandbox {
  handle: SandboxHandle;
  /** What an earlier life of this sandbox lost, to be told to the model; absent when nothing was. */
  lost?: string;
}
