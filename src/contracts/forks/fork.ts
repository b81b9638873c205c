/**
 * The files of a fork's sandbox. `exact`: those of the moment where it begins; it is refused when they are not known. `now`: those that the source has now. `none`:
 * a new sandbox.
 */
export const FORK_FILES = ['exact', 'now', 'none'] as const;
export type ForkFiles = (typeof FORK_FILES)[number];

/** The conversations in which the history of a fork may be. Each fork notes all of them, so that no reader goes from fork to fork. */
export const MAX_FORK_PARTS = 1_000;

/** Where a conversation began that is a fork. */
export interface ForkedFrom {
  conversationId: string;
  /** Number of the last entry of the transcript that it has from there. */
  transcriptSeq: number;
}

export interface ForkOptions {
  /** The end of a turn or a step, or a checkpoint: its id. Default: the end of the newest step that has finished. */
  at?: string | undefined;
  /** Default `exact`. */
  files?: ForkFiles | undefined;
  /** A first message for the fork; without one, it waits for a message. */
  message?: string | undefined;
  /** As for `start`. A second fork of the same conversation with the same id is the first one. */
  conversationId?: string | undefined;
}

/** What the workflow of a fork starts with. */
export interface ForkInput extends ForkedFrom {
  files: ForkFiles;
}

export interface ForkSandboxArgs {
  conversationId: string;
  agentId: string;
  tenantId: string;
}
/** `problem`: why the fork could not get its files; it is closed then. */
export type ForkSandboxResult<Tier> = { outcome: 'ready'; sandboxTier: Tier } | { outcome: 'failed'; problem: string };

export interface ForkActivities<Tier> {
  /** Makes the sandbox of a fork, once however often it is repeated. */
  forkSandbox(args: ForkSandboxArgs): Promise<ForkSandboxResult<Tier>>;
}

/** What the workflow of a conversation is told when a fork of it is made. */
export interface ForkedSignal {
  conversationId: string;
  /** How many forks of it there are, with this one. */
  forks: number;
}
/** The newest forks of a conversation, and how many there have been. */
export interface ShownForks {
  newest: string[];
  total: number;
}

/** A fork of one conversation. */
export interface ChatForks<Fork> {
  /**
   * Begins another conversation of the same agent and user with what this one has said and done up to a place, and with its files of that moment. Nothing runs
   * again. Resolves when the fork exists; its first turn waits for its files, and it is closed with the event `fork.failed` when it cannot have them.
   */
  fork(options?: ForkOptions): Promise<Fork>;
}
/** The same, for a conversation by its id or its `Chat`. */
export interface ForkCalls<Fork> {
  fork(conversation: string | { readonly id: string }, options?: ForkOptions): Promise<Fork>;
}

/** The data of the events about forks. */
export interface ForkEvents {
  /** Of the source: `conversationId` is the fork. */
  'conversation.forked': ForkedFrom;
  /** Of the fork: it has its files, and its first turn may begin. */
  'fork.ready': { files: ForkFiles; processes: boolean; checkpointId?: string };
  'fork.failed': { problem: string };
}
