import type { FileInfo } from '../api/files.ts';
import type { ExecSignal } from '../api/commands.ts';
import type { LineOf, RecordOf } from './protocol-types.ts';
import type { ServeTunnelsOptions } from './serve-tunnels.ts';

type Exec = RecordOf<'exec'>;

/** A command to start; see the record `exec` of the protocol. */
export interface ExecSpec extends Omit<Exec, 'command' | 'argv' | 'program'> {
  run: { command: string } | { argv: string[] } | { program: NonNullable<Exec['program']>; argv?: string[] };
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

export type ExitRecord = RecordOf<'exit'>;
export type ExecPreview = RecordOf<'preview'>;
export type ExecEnd = RecordOf<'ended'>;
export type ExecRecord = RecordOf<'execInfo'>;
/** A call of a tool by an exec's code. What it says is the guest's and not checked yet. */
export type MethodLine = LineOf<'calls'>;
export type WatchLine = LineOf<'watch'>;
export type TransferEnd = RecordOf<'transfer'>;

/** A typed conversation with one sandbox's supervisor. Cuts of its stream are not felt; all errors are of the error table. */
export interface SupervisorConnection {
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
  /** Tells the calls of an exec's code, those without an answer first, until the exec ends or it is aborted (rejecting with `DETACHED`). */
  calls(execId: string, options: { onCall: (call: MethodLine) => void; signal?: AbortSignal }): Promise<void>;
  /** Stops the exec's clock until the call is answered; returns how many of its calls have done so, counted at the first time. */
  hold(execId: string, number: number): Promise<number>;
  /** Gives a call its answer, an object as JSON; only the first counts. */
  answer(execId: string, number: number, answer: string): Promise<void>;
  /** Ends the exec at a call: no code of it runs any more. */
  conclude(execId: string, number: number): Promise<void>;
  ping(): Promise<void>;
  /** True when it has said something within so many milliseconds, or answers now; false when `signal` is aborted before. */
  isAnswering(withinMs: number, signal: AbortSignal): Promise<boolean>;
  /** At most `maxBytes` from `offset` (default 0), the file's whole size, and a text that differs when its content may. */
  readFile(path: string, maxBytes: number, offset?: number): Promise<{ bytes: Buffer; size: number; version: string }>;
  /** With `expected` it is written only over that version (empty: where there is nothing). `parents: false` makes no directories. */
  writeFile(path: string, bytes: Uint8Array, options?: { mode?: number; expected?: string; parents?: boolean }): Promise<void>;
  /** Pieces of one file, gathered under `uploadId` beside its place until they are committed or dropped. */
  writePart(path: string, uploadId: string, bytes: Uint8Array, options: { offset: number; parents: boolean }): Promise<void>;
  commitParts(path: string, uploadId: string, options: { size: number; mode?: number }): Promise<void>;
  dropParts(path: string, uploadId: string): Promise<void>;
  /** A directory as a tar; `onRepeat` says that the tar begins anew. */
  packDirectory(path: string, sink: { onData: (chunk: Buffer) => Promise<void>; onRepeat: () => void }): Promise<TransferEnd>;
  /** A tar into a directory; the source is opened anew when the stream broke. */
  unpackDirectory(path: string, open: () => AsyncIterable<Uint8Array>): Promise<TransferEnd>;
  /** Runs until it is aborted (rejecting with `INTERRUPTED`) or what is watched is gone. After `onRepeat` something may have been missed. */
  watch(path: string, options: { recursive: boolean; signal: AbortSignal; onEvent: (event: WatchLine) => void; onRepeat: () => void }): Promise<void>;
  listFiles(path: string, options: { recursive: boolean; maxEntries: number; pattern?: string }): Promise<{ files: FileInfo[]; truncated: boolean }>;
  glob(pattern: string, options: { path: string; hidden: boolean; maxEntries: number }): Promise<{ paths: string[]; truncated: boolean }>;
  fileInfo(path: string): Promise<FileInfo | undefined>;
  removeFile(path: string, options: { recursive: boolean }): Promise<void>;
  createDirectory(path: string, options: { parents: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Takes the guest's connections to the way out until it is aborted; see there. */
  serveTunnels(options: ServeTunnelsOptions): Promise<void>;
  /** Closes the stream but not the connection: the next call, and those in progress, open another. */
  disconnect(): void;
  /** Ends the connection. All calls in progress reject with `why`; without it execs run on, followers reject with `DETACHED` and everything else with `SANDBOX_UNREACHABLE`. */
  close(why?: Error): void;
}

/** What operations need of a connection: all but its end. */
export type WorkingConnection = Omit<SupervisorConnection, 'disconnect' | 'close' | 'serveTunnels' | 'isAnswering'>;
