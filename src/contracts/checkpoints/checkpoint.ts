/** When checkpoints are made: at the end of each turn, or of each step, in which the agent has called tools. */
export type CheckpointPolicy = 'turn' | 'step';

/** A checkpoint of a conversation: the home directory of its sandbox at one moment, and the place in the transcript. */
export interface Checkpoint {
  checkpointId: string;
  turnId: string;
  /** Present when it was made at the end of a step. */
  stepId?: string;
  /** ISO 8601, UTC. */
  at: string;
  /** Number of the last entry of the transcript at that moment. */
  transcriptSeq: number;
  /** Files of the home directory, and their size together. */
  files: number;
  bytes: number;
  /** How many paths differ from the checkpoint before it. */
  changed: number;
  /** Bytes that it takes up in addition to the checkpoints before it. */
  addedBytes: number;
  /** Files and directories that could not be read; they are left as they are. */
  leftOut: number;
}

export interface KeepCheckpointArgs {
  conversationId: string;
  agentId: string;
  tenantId: string;
  turnId: string;
  stepId?: string;
}

/** The newest checkpoints of a conversation that remain. */
export const KEPT_CHECKPOINTS = 20;

export interface RewindArgs {
  /** The checkpoint to go back to. */
  checkpointId: string;
  /** What `REWIND_UNCONFIRMED` gave: the caller has seen the effects outside the sandbox, which stay. */
  confirm?: string;
}
export interface RewindResult {
  checkpointId: string;
  /** The checkpoint of the state before; going back to it takes the rewind back. */
  before: string;
  /** Files and directories that were written and removed. */
  written: number;
  removed: number;
  /** What could not be restored. */
  failed: number;
}
export interface RewindConversationArgs extends RewindArgs {
  conversationId: string;
  agentId: string;
  tenantId: string;
  /** Names the rewind: a repeated attempt is the same one. */
  rewindId: string;
}

export type RewindOptions = Pick<RewindArgs, 'confirm'>;
/** The calls of a conversation about its checkpoints. */
export interface ChatCheckpoints {
  /** The oldest first; reads Postgres. */
  checkpoints(): Promise<Checkpoint[]>;
  /**
   * Between two turns, makes files and transcript as they were at a checkpoint. Fails with `REWIND_UNCONFIRMED` when something since then reached beyond the
   * sandbox, and goes on with the `confirm` of that error.
   */
  rewind(checkpointId: string, options?: RewindOptions): Promise<RewindResult>;
}
/** The same, for a conversation by its id or its `Chat`. */
export interface CheckpointCalls {
  checkpoints(conversation: string | { readonly id: string }): Promise<Checkpoint[]>;
  rewind(conversation: string | { readonly id: string }, checkpointId: string, options?: RewindOptions): Promise<RewindResult>;
}

export interface CheckpointActivities {
  keepCheckpoint(args: KeepCheckpointArgs): Promise<void>;
  rewindConversation(args: RewindConversationArgs): Promise<RewindResult>;
}
