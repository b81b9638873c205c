import type { FileInfo } from '../api/files.ts';
import type { ExecSignal } from '../api/commands.ts';
import type { LineOf, RecordOf } from './protocol-types.ts';
import type { CheckpointStreams, SandboxCheckpoints } from '../api/checkpoints.ts';
import type { CheckpointDifferences } from '../api/differences.ts';
import type { ConnectPortOptions } from '../api/host-methods.ts';
import type { ServeTunnelsOptions } from './serve-tunnels.ts';

type Exec = RecordOf<'exec'>;

/** A command to start; see the record `exec` of the protocol. */
export interface ExecSpec extends Omit<Exec, 'command' | 'argv' | 'program'> {
  run: { command: string } | { argv: string[] } | { program: NonNullable<Exec['program']>; argv?: string[] };
}

export interface FollowOptions {
  /** Byte offsets from which output is delivered. */
  from?: { stdout: number; stderr: number };
  /** While a returned promise is pending, no further output is requested. Without `onStdout` and `onStderr`, only the previews are sent. */
  onStdout?: (chunk: Buffer) => void | Promise<void>;
  onStderr?: (chunk: Buffer) => void | Promise<void>;
  /** Bytes of head and tail together, at most 65 536. */
  previewBytes: number;
  /** Aborting it detaches: the exec continues, and the call rejects with `DETACHED`. */
  signal?: AbortSignal;
}

export type ExitRecord = RecordOf<'exit'>;
export type ExecPreview = RecordOf<'preview'>;
export type ExecEnd = RecordOf<'ended'>;
export type ExecRecord = RecordOf<'execInfo'>;
/** A tool call of an exec's code. Its tool and arguments come from the guest and are not checked yet. */
export type MethodLine = LineOf<'calls'>;
export type WatchLine = LineOf<'watch'>;
export type TransferEnd = RecordOf<'transfer'>;

/** A typed connection to one sandbox's supervisor. A broken stream is replaced, and calls continue on the next one. All errors are of the error table. */
export interface SupervisorConnection extends SandboxCheckpoints, CheckpointStreams, CheckpointDifferences {
  /** Starts (or attaches to) an exec and follows it, in one round trip. */
  run(spec: ExecSpec, follow: FollowOptions): Promise<ExecEnd>;
  start(spec: ExecSpec): Promise<ExecRecord>;
  attach(execId: string, follow: FollowOptions): Promise<ExecEnd>;
  input(execId: string, bytes: Uint8Array, options: { end: boolean }): Promise<void>;
  /** False when nothing of the exec was left to signal. */
  signal(execId: string, signal: ExecSignal): Promise<boolean>;
  list(): Promise<ExecRecord[]>;
  info(execId: string): Promise<ExecRecord>;
  forget(execId: string): Promise<void>;
  /** Reports the tool calls of an exec's code, unanswered ones first, until the exec ends. Rejects with `DETACHED` when `signal` is aborted. */
  calls(execId: string, options: { onCall: (call: MethodLine) => void; signal?: AbortSignal }): Promise<void>;
  /** Suspends the exec's time limit until the call is answered. Returns the position of the call among the held calls of the exec: 1 for the first. */
  hold(execId: string, number: number): Promise<number>;
  /** Answers a call with an object as JSON. Only the first answer counts. */
  answer(execId: string, number: number, answer: string): Promise<void>;
  /** Ends the exec at a call. None of its code runs after that. */
  conclude(execId: string, number: number): Promise<void>;
  ping(): Promise<void>;
  /** Resolves to true when the stream was active within this many milliseconds, or when a ping is answered. Rejects when `signal` is aborted before. */
  isAnswering(withinMs: number, signal: AbortSignal): Promise<boolean>;
  /** Returns at most `maxBytes` from `offset` (default 0), the size of the whole file, and a version, which changes when the content may have changed. */
  readFile(path: string, maxBytes: number, offset?: number): Promise<{ bytes: Buffer; size: number; version: string }>;
  /** With `expected`, writes only if the file has that version (empty: if there is no file). `parents: false` creates no directories. */
  writeFile(path: string, bytes: Uint8Array, options?: { mode?: number; expected?: string; parents?: boolean }): Promise<void>;
  /** Writes a part of a file. Parts are collected under `uploadId` beside the file until they are committed or dropped. */
  writePart(path: string, uploadId: string, bytes: Uint8Array, options: { offset: number; parents: boolean }): Promise<void>;
  commitParts(path: string, uploadId: string, options: { size: number; mode?: number }): Promise<void>;
  dropParts(path: string, uploadId: string): Promise<void>;
  /** Sends a directory as a tar. `onRepeat` means that the tar begins again. */
  packDirectory(path: string, sink: { onData: (chunk: Buffer) => Promise<void>; onRepeat: () => void }): Promise<TransferEnd>;
  /** Unpacks a tar into a directory. `open` is called again after the stream broke. */
  unpackDirectory(path: string, open: () => AsyncIterable<Uint8Array>): Promise<TransferEnd>;
  /** Runs until the watched path is removed. Rejects with `INTERRUPTED` when `signal` is aborted. `onRepeat` means that events may have been missed. */
  watch(path: string, options: { recursive: boolean; signal: AbortSignal; onEvent: (event: WatchLine) => void; onRepeat: () => void }): Promise<void>;
  listFiles(path: string, options: { recursive: boolean; maxEntries: number; pattern?: string }): Promise<{ files: FileInfo[]; truncated: boolean }>;
  glob(pattern: string, options: { path: string; hidden: boolean; maxEntries: number }): Promise<{ paths: string[]; truncated: boolean }>;
  fileInfo(path: string): Promise<FileInfo | undefined>;
  removeFile(path: string, options: { recursive: boolean }): Promise<void>;
  createDirectory(path: string, options: { parents: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Connects to a port on which a program of the guest listens, and resolves when the connection has ended; see connect-port.ts. */
  connectPort(port: number, options: ConnectPortOptions): Promise<void>;
  /** Accepts the guest's connections for egress until it is aborted; see serve-tunnels.ts. */
  serveTunnels(options: ServeTunnelsOptions): Promise<void>;
  /** Closes the stream but not the connection: calls in progress, and the next call, open another stream. */
  disconnect(): void;
  /**
   * Closes the connection. Calls in progress reject with `why`. Without it, execs continue, calls that follow one reject with `DETACHED`, and other calls
   * reject with the error of their abort or with `SANDBOX_UNREACHABLE`.
   */
  close(why?: Error): void;
}

/** What operations need of a connection. Only the owner of the connection closes it. */
export type WorkingConnection = Omit<SupervisorConnection, 'disconnect' | 'close' | 'serveTunnels' | 'isAnswering' | 'packCheckpoint'>;
