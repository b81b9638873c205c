/** With whom a memory is shared: the conversations of one user, of a whole tenant, or of one agent in a tenant. */
export const MEMORY_SCOPES = ['user', 'tenant', 'agent'] as const;
export type MemoryScope = (typeof MEMORY_SCOPES)[number];

export const MEMORY_PLUGIN = 'memory';

/** Whose memory it is. */
export interface MemoryPlace {
  tenantId: string;
  scope: MemoryScope;
  /** Id of the user or the agent; empty for the memory of a tenant. */
  owner: string;
}

export const MEMORY_LIMITS = {
  /** Of one file, as UTF-8. */
  fileBytes: 65_536,
  /** Of one memory: files, and their bytes together. */
  files: 200,
  bytes: 1_048_576,
  /** Versions of one file that are kept, the current one among them. */
  versions: 20,
  /** Of one memory: versions that are not current any more, and their bytes together. */
  olderVersions: 2_000,
  olderBytes: 4_194_304,
} as const;
/** (A type alias: unlike an interface, it is assignable to `Json`.) */
export type MemoryLimits = { [Name in keyof typeof MEMORY_LIMITS]: number };

/** Who has written a version. `erased`: somebody whose data was erased. */
export interface MemoryWriter {
  kind: 'key' | 'oidc' | 'login' | 'link' | 'conversation' | 'erased';
  /** Id of the conversation, the key, name of the user; empty for `erased`. */
  id: string;
  /** The call, of a conversation. */
  callId?: string;
}

export interface MemoryVersion {
  path: string;
  /** A whole number above 0, which no other version in this memory has; newer ones have larger numbers. */
  version: number;
  /** Of the content, as UTF-8. */
  bytes: number;
  /** When it was written: ISO 8601, UTC. */
  at: string;
  by: MemoryWriter;
  /** Present when the file was removed with it. */
  removed?: true;
}

export interface MemoryFile extends MemoryVersion {
  /** The beginning of the first line. */
  firstLine: string;
}

/** A version with what the file contained. */
export interface MemoryContent extends MemoryVersion {
  content: string;
}

export interface MemoryChange {
  path: string;
  /** Null: the file is removed. */
  content: string | null;
  /** The current version as the writer has read it; 0: there is no file. */
  version: number;
  /** With the user for whom it is written, where that is known. */
  by: MemoryWriter & { userId?: string };
}
/** How a change ended. `written`: with this change, or with an earlier attempt of the same call. `files` and `bytes`: there is no room. */
export type MemoryOutcome =
  | { outcome: 'written'; version: number; at: string }
  | {
      outcome: 'conflict';
      /** The current version; 0: there is no file. */
      version: number;
    }
  | { outcome: 'files' | 'bytes' };

/** Files of memories, as tools and clients use them. */
export interface MemoryFiles {
  /** Sorted by path; those whose path begins with the prefix. */
  list(place: MemoryPlace, prefix?: string): Promise<MemoryFile[]>;
  /** The current version, or the one that is named while it is kept. Undefined for files and versions that are not there or were removed. */
  read(place: MemoryPlace, path: string, version?: number): Promise<MemoryContent | undefined>;
  /** Changes a file if it still has the version that was read; a repeated attempt of a call is the same change. */
  write(place: MemoryPlace, change: MemoryChange): Promise<MemoryOutcome>;
}
