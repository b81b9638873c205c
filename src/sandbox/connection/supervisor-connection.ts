import type { FileInfo } from '../sandbox.ts';

export interface ExecSpec {
  execId: string;
  /** A bash command, or a program with its arguments. */
  run: { command: string } | { argv: string[] };
  /** Relative paths start at the guest's home. */
  cwd: string;
  env: Record<string, string>;
  /** Milliseconds not frozen; 0 never. */
  timeoutMs: number;
  /** Per stream. */
  maxOutputBytes: number;
  stdin: 'empty' | 'open';
}

export interface FollowOptions {
  /** Bytes that are known already; output is delivered from here on. */
  from?: { stdout: number; stderr: number };
  /** A promise holds back the output until it is kept. Without either, only the previews travel. */
  onStdout?: (chunk: Buffer) => void | Promise<void>;
  onStderr?: (chunk: Buffer) => void | Promise<void>;
  /** Bytes of head and tail together; at most 65 536. */
  previewBytes: number;
  /** Aborting lets go: the exec runs on and the call rejects with `DETACHED`. */
  signal?: AbortSignal;
}

/** How an exec ended. `lost`: its container died before it did. */
export interface ExitRecord {
  status: 'exited' | 'timeout' | 'killed' | 'lost';
  exitCode?: number;
  signal?: string;
  durationMs: number;
  stdoutBytes: number;
  stderrBytes: number;
  stdoutKept: number;
  stderrKept: number;
}
export interface ExecPreview {
  head: string;
  /** Empty when `head` is all that was kept. */
  tail: string;
  leftOut: number;
  path: string;
}
export interface ExecEnd {
  exit: ExitRecord;
  stdout: ExecPreview;
  stderr: ExecPreview;
}
export interface ExecRecord {
  execId: string;
  /** The first 1000 characters. */
  command: string;
  state: 'running' | 'ended' | 'lost';
  startedAt: string;
  stdoutBytes: number;
  stderrBytes: number;
  exit?: ExitRecord;
}

/** A typed conversation with one sandbox's supervisor. Cuts of its stream are not felt; all errors are of the error table. */
export interface SupervisorConnection {
  /** Starts (or attaches to) an exec and follows it, in one round trip. */
  run(spec: ExecSpec, follow: FollowOptions): Promise<ExecEnd>;
  start(spec: ExecSpec): Promise<ExecRecord>;
  attach(execId: string, follow: FollowOptions): Promise<ExecEnd>;
  input(execId: string, bytes: Uint8Array, options: { end: boolean }): Promise<void>;
  /** False when nothing of the exec was left to signal. */
  signal(execId: string, signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<boolean>;
  list(): Promise<ExecRecord[]>;
  info(execId: string): Promise<ExecRecord>;
  forget(execId: string): Promise<void>;
  ping(): Promise<void>;
  /** At most `maxBytes` from the beginning, and the file's whole size. */
  readFile(path: string, maxBytes: number): Promise<{ bytes: Buffer; size: number }>;
  writeFile(path: string, bytes: Uint8Array, options?: { mode?: number }): Promise<void>;
  listFiles(path: string, options: { recursive: boolean; maxEntries: number }): Promise<{ files: FileInfo[]; truncated: boolean }>;
  fileInfo(path: string): Promise<FileInfo | undefined>;
  removeFile(path: string, options: { recursive: boolean }): Promise<void>;
  createDirectory(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Closes the stream but not the connection: the next call, and those in progress, open another. */
  disconnect(): void;
  /** Ends the connection; execs run on, followers reject with `DETACHED`, everything else with `SANDBOX_UNREACHABLE`. */
  close(): void;
}
