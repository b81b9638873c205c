import type { SandboxCheckpoint } from './checkpoints.ts';

/** One path of the home directory at one moment. */
export interface DifferenceSide {
  /** `closed`: the user of the sandbox cannot read it, or it is too deep. */
  type: 'file' | 'directory' | 'link' | 'other' | 'closed';
  /** Permission bits of a file or directory. */
  mode?: number;
  /** Bytes of a file. */
  size?: number;
  /** A directory with nothing in it. */
  empty?: boolean;
  /** Where a link leads. */
  target?: string;
  /** Of a file that is not larger than was asked for. */
  content?: Buffer;
}
/** A path about which two moments differ. Bytes of the path that are not UTF-8 are lone surrogates, as in lists of files. */
export interface FileDifference {
  path: string;
  /** Absent when there was nothing. */
  before?: DifferenceSide;
  after?: DifferenceSide;
  /** Why there is no content. */
  problem?: string;
}

type Moment = Pick<SandboxCheckpoint, 'number' | 'at'>;
export interface CompareRequest {
  from: Moment;
  /** Default: the files as they are now. */
  to?: Moment;
  /** Only these and what is below them, relative to the home directory. Default: all. */
  paths?: string[];
  /** Larger files come without content. */
  mostBytes: number;
}

/** What differs between a checkpoint of the home directory and another moment. Commands run on while it is found out. */
export interface CheckpointDifferences {
  /**
   * Calls `onDifference` with each difference, in the order of the paths; the next one comes when its promise is resolved. `at`: when the files were looked at.
   * `closed`: how many paths could not be read.
   */
  compareCheckpoint(
    request: CompareRequest,
    onDifference: (difference: FileDifference) => Promise<void>,
    options?: { signal?: AbortSignal },
  ): Promise<{ at: string; closed: number }>;
}
