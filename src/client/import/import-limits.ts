const MIB = 1024 * 1024;

/** What an archive may have: an archive says nothing about the size that it unpacks to. */
export const IMPORT_LIMITS = {
  /** Bytes of `conversation.json`. */
  about: 4 * MIB,
  /** Bytes of an entry of the transcript, and of all of them. */
  entry: 64 * MIB,
  transcript: 1024 * MIB,
  /** Bytes of an event, and of all of them. */
  event: 16 * MIB,
  events: 1024 * MIB,
  /** Bytes of what is only skipped. */
  skipped: 4 * 1024 * MIB,
  /** Files and directories of the sandbox. */
  files: 500_000,
  /** Bytes of the path of one. */
  path: 4000,
} as const;
