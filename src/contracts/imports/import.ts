/** Where a conversation was exported that was brought in again, perhaps in another installation. */
export interface ImportedFrom {
  conversationId: string;
  /** ISO 8601, UTC. */
  exportedAt: string;
}

export interface ImportOptions {
  /** An id of your own; generated when absent. The same archive again with the same id is the same conversation. */
  conversationId?: string;
  /** The agent that goes on with it. Default: the one with the id that the archive names. */
  agent?: string;
  /** For whom. Default: the user that the archive names. */
  user?: string;
  /** Default `default`, whatever the archive says. */
  tenant?: string;
  /** With the files of the sandbox. Default: true. */
  files?: boolean;
}

/** What an import has brought in, and what not. */
export interface ImportReport {
  from: ImportedFrom;
  /** Of the transcript. */
  entries: number;
  /** Of the log of events. No reader of events gets them; a later export has them. */
  events: number;
  attachments: number;
  /** `why`: there are none. */
  files: { count: number; bytes: number } | { count: 0; why: string };
  /** What of the archive is not in the conversation, in words. */
  leftOut: string[];
}

/** The bytes of a `.tar.gz`, such as a stream of a file. */
export type ArchiveSource = AsyncIterable<Uint8Array>;

export interface ImportCalls<Imported> {
  /**
   * Makes a conversation of what an export has written: its transcript, its attachments and the files of its sandbox. Nothing runs again. Resolves when the
   * conversation can go on.
   */
  import(archive: ArchiveSource, options?: ImportOptions): Promise<{ chat: Imported; report: ImportReport }>;
}
