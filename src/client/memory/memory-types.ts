import type { MemoryContent, MemoryFile, MemoryVersion } from '../../contracts/memory/memory.ts';

/** Whose memory: of a user, of an agent, or of the tenant when neither is given. Default tenant: `default`. */
export interface MemoryOf {
  tenant?: string;
  user?: string;
  agent?: string;
}

/**
 * Files that agents keep between conversations, for people who read and correct them. A file that is not there fails with `MEMORY_FILE_NOT_FOUND`. Reads and
 * writes Postgres: no worker has to run.
 */
export interface Memory {
  /** Sorted by path. */
  list(of: MemoryOf): Promise<MemoryFile[]>;
  /** The current version, or an older one that is kept. */
  read(path: string, options: MemoryOf & { version?: number }): Promise<MemoryContent>;
  /**
   * Writes a file as a new version. `version` is the one that was read; default 0: there is no such file yet. Fails with `MEMORY_CONFLICT` when the file has
   * another one, and with `MEMORY_FULL`.
   */
  write(path: string, content: string, options: MemoryOf & { version?: number }): Promise<MemoryVersion>;
  /** Removes a file, with `version` only if it still has that one. Its versions are kept as those of other files. */
  delete(path: string, options: MemoryOf & { version?: number }): Promise<MemoryVersion>;
  /** The versions that are kept, the newest first. */
  history(path: string, of: MemoryOf): Promise<MemoryVersion[]>;
}
