/** A copy of the home directory at one moment, in the volume of the sandbox. */
export interface SandboxCheckpoint {
  /** Counts the checkpoints of the sandbox from 1, and is not used again. */
  number: number;
  /** ISO 8601, UTC. */
  at: string;
  /** Files of the home directory, and their size together. */
  files: number;
  bytes: number;
  /** How many paths differ from the checkpoint before it. */
  changed: number;
  /** Bytes that it takes up in addition to the checkpoints before it. */
  addedBytes: number;
  /** Files and directories that the user of the sandbox cannot read, and that are left as they are. */
  leftOut: number;
}
export interface CheckpointOptions {
  /** Names the request: one that is repeated right after it was done has no further effect. */
  key: string;
  /** How many checkpoints remain: the oldest are removed. */
  keep: number;
}
/** `made: false`: nothing has changed since the newest checkpoint, which is returned. */
export interface CreatedCheckpoint {
  made: boolean;
  checkpoint: SandboxCheckpoint;
  /** Number of the oldest one that is left. */
  oldest: number;
}
export interface RestoredCheckpoint {
  /** The state after the restore is a checkpoint, too. */
  checkpoint: SandboxCheckpoint;
  oldest: number;
  written: number;
  removed: number;
  /** What could not be restored; the first 20 with the reason. */
  failed: number;
  problems: { path: string; problem: string }[];
}

/** One of the streams that make up a backup. */
export interface CheckpointStream {
  /** Number and time of its newest checkpoint. */
  to: number;
  at: string;
  /** Bytes of content. */
  bytes: number;
}
/** Streams of checkpoints for backups. */
export interface CheckpointStreams {
  /**
   * Calls `onData` with the pieces of a stream of the newest checkpoint, without what the streams in `known` have. Returns after which of them it begins: later ones
   * are not needed any more. Not repeated when the connection breaks.
   */
  packCheckpoint(
    checkpoint: Pick<SandboxCheckpoint, 'number' | 'at'>,
    known: CheckpointStream[],
    onData: (piece: Buffer) => Promise<void>,
    options: { signal: AbortSignal },
  ): Promise<{ since: number; bytes: number }>;
}

/** Checkpoints of the home directory. While one is made or restored, the commands of the sandbox stand still. */
export interface SandboxCheckpoints {
  /** Copies what has changed since the newest checkpoint. */
  createCheckpoint(options: CheckpointOptions): Promise<CreatedCheckpoint>;
  /** The oldest first. */
  checkpoints(): Promise<SandboxCheckpoint[]>;
  /** Makes the home directory as it was. Rejects with `CHECKPOINT_NOT_FOUND` when the checkpoint was removed, or its volume. */
  restoreCheckpoint(checkpoint: Pick<SandboxCheckpoint, 'number' | 'at'>, options: CheckpointOptions): Promise<RestoredCheckpoint>;
}
