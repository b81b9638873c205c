export interface FileInfo {
  path: string;
  type: 'file' | 'directory' | 'link' | 'other';
  size: number;
  /** Permission bits, as in `0o644`. */
  mode: number;
  modifiedAt: string;
  accessedAt: string;
  /** When content, mode or owner last changed. */
  changedAt: string;
  linkTarget?: string;
  /** `utf-8`, `utf-8-bom`, `utf-16le`, `utf-16be`, `windows-1252` or `binary`; guessed from the first 64 KiB. Only in `fileInfo`, only for readable files. */
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
  /** Encoding of a text; ignored for bytes. Default `utf-8`. */
  encoding?: string;
  createDirectories?: boolean;
}
export interface FileEdit {
  change: 'created' | 'updated' | 'removed';
  /** Line of the change, counted from 1. */
  line: number;
}
export interface TransferProgress {
  /** Called with the size of each piece that is transferred; for directories, the size as packed. A piece that is sent again is reported again. */
  onBytes?: (bytes: number) => void;
}
export interface TransferReport {
  files: number;
  bytes: number;
  /** The first 100 failures; `failed` counts all. */
  failures: { path: string; problem: string }[];
  failed: number;
}

/** `overflow`: events were lost, because there were too many or the connection broke. List the watched directory again. */
export interface FileEvent {
  type: 'created' | 'changed' | 'removed' | 'overflow';
  path: string;
}
export interface FileWatch extends AsyncIterable<FileEvent>, AsyncDisposable {
  /** Resolves when the watch has ended. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Reads, writes, moves and watches files. Relative paths start at `/home/user`. */
export interface SandboxFiles {
  readFile(path: string, options?: { maxBytes?: number }): Promise<Buffer>;
  /** Reads a text. The encoding `auto` is guessed from the bytes. Bytes that are not valid in the encoding are an error. */
  readFile(path: string, options: { encoding: string; maxBytes?: number }): Promise<string>;
  /** Reads a file of any size in pieces. A file that changes during the read is an error. */
  readFileStream(path: string, options?: { offset?: number; maxBytes?: number }): AsyncIterable<Buffer>;
  /** Writes a file atomically, also from a stream: writes a temporary file and renames it. Creates missing directories unless `createDirectories` is false. */
  writeFile(path: string, data: FileContent, options?: WriteFileOptions): Promise<void>;
  /** Writes several files, some at the same time, each as `writeFile` does. When one fails, the others are still written, and the first error is thrown. */
  writeFiles(files: FileToWrite[]): Promise<void>;
  /**
   * Replaces a text that must occur exactly once in the file. The file keeps its encoding and line ends. An empty `oldText` creates a new file; an empty
   * `newText` removes the text.
   */
  editFile(path: string, edit: { oldText: string; newText: string }): Promise<FileEdit>;
  /**
   * With `pattern`, lists only matching names; a pattern with a `/` is matched with the paths below `path`. More than 10 000 entries are an error.
   * With `maxEntries` (at most 100 000), the list is cut at that number instead.
   */
  listFiles(path: string, options?: { recursive?: boolean; pattern?: string; maxEntries?: number }): Promise<FileInfo[]>;
  /**
   * Finds paths that match a pattern: `*` and `?` within a name, `[a-z]`, `{a,b}`, `**` for any number of directories. Relative patterns start at
   * `cwd` (default `/home/user`) and give relative paths. A name that begins with a dot is matched only by a pattern with that dot, or with `hidden`.
   * More than `maxEntries` paths (default 10 000, at most 100 000) are an error.
   */
  glob(pattern: string, options?: { cwd?: string; hidden?: boolean; maxEntries?: number }): Promise<string[]>;
  fileExists(path: string): Promise<boolean>;
  /** Undefined when the path does not exist. For a link, describes the link itself, not its target. */
  fileInfo(path: string): Promise<FileInfo | undefined>;
  removeFile(path: string, options?: { recursive?: boolean }): Promise<void>;
  /** Succeeds when the directory exists already. With `parents` (default true), also creates missing parent directories. */
  createDirectory(path: string, options?: { parents?: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  uploadFile(localPath: string, path: string, options?: TransferProgress & { mode?: number }): Promise<void>;
  /** Atomic: writes a temporary file beside `localPath` and renames it. */
  downloadFile(path: string, localPath: string, options?: TransferProgress): Promise<void>;
  /** Merges a local directory into `path` and deletes nothing. Links and special files are not copied; they are reported as failures. */
  uploadDirectory(localPath: string, path: string, options?: TransferProgress): Promise<TransferReport>;
  /** The same from the sandbox to this machine. `maxBytes` (default 16 GiB) limits how much the guest can make this machine store. */
  downloadDirectory(path: string, localPath: string, options?: TransferProgress & { maxBytes?: number }): Promise<TransferReport>;
  /** Resolves when the watch is active. The watch ends when the watched path is removed. */
  watch(path: string, options?: { recursive?: boolean }): Promise<FileWatch>;
}
