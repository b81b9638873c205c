/** How the prompts of long conversations are made smaller. */
export interface ContextOptions {
  /** Tokens of the model's window; absent: as known of the model. */
  window?: number;
  /** The part of the window at which a prompt is made smaller. */
  compactAt: number;
  /** The newest turns that are kept whole while there is room. */
  keepTurns: number;
  /** The provider clears older results on its side before that. */
  providerEdits?: boolean;
}

/** When the model sees only one line per tool and finds the tools with `tools:search`. */
export interface DeferOptions {
  /** With more tools than this, all tools are deferred except the pinned ones. */
  over: number;
  /** Ids and patterns of tools that are never deferred. */
  pin: string[];
}
