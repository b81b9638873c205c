export interface DiffOptions {
  /** A checkpoint. Default: the newest one. */
  from?: string;
  /** A checkpoint. Default: the files as they are now. */
  to?: string;
  /** Only these paths and what is below them, in the home directory of the sandbox. At most 100. */
  paths?: string[];
  /** The changes as a patch for `git apply`, too. */
  patch?: boolean;
}

/** What is compared: a checkpoint, or without an id the files as they were at that time. */
export interface DiffMoment {
  checkpointId?: string;
  /** ISO 8601, UTC. */
  at: string;
}

/** A path at one of the two moments. */
export interface ChangedSide {
  /** `closed`: it cannot be read. */
  type: 'file' | 'directory' | 'link' | 'other' | 'closed';
  /** Permission bits of a file or directory. */
  mode?: number;
  /** Size of a file. */
  bytes?: number;
  /** Where a link leads. */
  target?: string;
}

/** `type`: such as a file that is a directory now. `mode`: only its permission bits have changed. */
export type ChangeKind = 'added' | 'removed' | 'changed' | 'type' | 'mode';

export interface FileChange {
  /** In the home directory. Bytes that are not UTF-8 are lone surrogates, as in lists of files. */
  path: string;
  change: ChangeKind;
  before?: ChangedSide;
  after?: ChangedSide;
  /** Of files with text. `exact: false`: comparing the lines took too long, and all of them count as replaced. */
  lines?: { added: number; removed: number; exact: boolean };
  /** Why a patch does not have it, or not all of it. */
  leftOut?: string;
}

export interface DiffSummary {
  /** How many paths differ. */
  changed: number;
  /** Lines of all texts. */
  linesAdded: number;
  linesRemoved: number;
  /** How many of the paths a patch does not have, or not wholly; each one says why. */
  leftOut: number;
  /** How many paths cannot be read, so that it is not known whether they differ. */
  unreadable: number;
}

export interface Diff extends DiffSummary {
  from: DiffMoment;
  to: DiffMoment;
  /** The sandbox rested, and was woken for this. */
  woken: boolean;
  /** In the order of the paths; the first 10 000. */
  changes: FileChange[];
  /** How many more there are. */
  notListed: number;
  /** Bytes of a patch; what it leaves out is in its lines that begin with `#`. With the option `patch`. */
  patch?: Uint8Array;
}

export const LISTED_CHANGES = 10_000;
export const MOST_DIFF_PATHS = 100;
/** A patch that is held in memory is not larger. */
export const MOST_PATCH_BYTES = 64 * 1024 * 1024;

/** The calls of a conversation about what has changed. */
export interface ChatDiff {
  /** Compares the files of the sandbox with a checkpoint, or two checkpoints. Wakes a sandbox that rests. */
  diff(options?: DiffOptions): Promise<Diff>;
}
export interface DiffCalls {
  diff(conversation: string | { readonly id: string }, options?: DiffOptions): Promise<Diff>;
}

/** What a worker says at the end of a comparison. */
export interface DiffEnd extends DiffSummary {
  at: string;
  notListed: number;
}
export type CompareMessage = { change: FileChange } | { end: DiffEnd };
