/** Whole directories as they are, without a copy on this machine. */
export interface DirectoryArchives {
  /**
   * Calls `onData` with the pieces of a tar of the regular files and directories below a path. What runs in the sandbox has made the tar's content: a reader
   * trusts none of it. Not repeated when the stream to the sandbox breaks.
   */
  packDirectory(path: string, onData: (piece: Buffer) => Promise<void>): Promise<PackedDirectory>;
}
export interface PackedDirectory {
  files: number;
  bytes: number;
  /** What is not in the tar, or not as it is; the first 100 with the reason. */
  failed: number;
  failures: { path: string; problem: string }[];
}
