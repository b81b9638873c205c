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

/** Reads, writes, moves and watches files. Relative paths start at `/home/user`. */
export interface SandboxFiles {
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
}
