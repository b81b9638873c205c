export interface FileInfo {
  path: string;
  type: 'file' | 'directory' | 'link' | 'other';
  size: number;
  /** Permission bits, as in `0o644`. */
  mode: number;
  modifiedAt: string;
  accessedAt: string;
  /** When content, mode or owner were last changed. */
  changedAt: string;
  linkTarget?: string;
  /** `utf-8`, `utf-8-bom`, `utf-16le`, `utf-16be`, `windows-1252`, or `binary`; guessed from the beginning. Only in `fileInfo`, only for readable files. */
  encoding?: string;
}

/** A text, bytes, or a stream of bytes, such as a `ReadableStream` or Node's `Readable`. */
export type FileContent = string | Uint8Array | ArrayBuffer | Blob | AsyncIterable<Uint8Array>;
export interface FileToWrite extends WriteFileOptions {
  path: string;
  data: FileContent;
}
export interface WriteFileOptions {
  mode?: number;
  /** Of text. Default `utf-8`. */
  encoding?: string;
  createDirectories?: boolean;
}
export interface FileEdit {
  change: 'created' | 'updated' | 'removed';
  /** Where, counted from 1. */
  line: number;
}
export interface TransferProgress {
  /** Told the size of each piece that goes by; of directories, as packed. What has to be sent again is told again. */
  onBytes?: (bytes: number) => void;
}
export interface TransferReport {
  files: number;
  bytes: number;
  /** The first 100 at most; `failed` counts all. */
  failures: { path: string; problem: string }[];
  failed: number;
}

/** `overflow`: changes came faster than they could be told, or the connection broke; look at the whole again. */
export interface FileEvent {
  type: 'created' | 'changed' | 'removed' | 'overflow';
  path: string;
}
export interface FileWatch extends AsyncIterable<FileEvent>, AsyncDisposable {
  /** Resolves when the watch is over. */
  readonly closed: Promise<void>;
  close(): void;
}
