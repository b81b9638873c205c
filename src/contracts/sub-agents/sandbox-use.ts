/**
 * The sandbox in which a sub-agent works. `own`: a new one. `none`: it has none. `shared`: that of the conversation that gives the task. `shared-read-only`: the
 * same, and only the tools that read files. `fork`: a new one with a copy of the files that the conversation had when it gave the task.
 */
export const SANDBOX_USES = ['own', 'none', 'shared', 'shared-read-only', 'fork'] as const;
export type SandboxUse = (typeof SANDBOX_USES)[number];

/** The sandbox of a sub-agent that has no new and empty one. `conversationId`: the conversation whose sandbox it is. */
export type ParentSandbox = { use: 'none' | 'fork' } | { use: 'shared' | 'shared-read-only'; conversationId: string };

/** The tools that may use a sandbox that is shared to be read: programs of ours that change nothing. */
const READING_TOOLS = ['files:read', 'files:list', 'files:search'];

export function isShared(use: SandboxUse | undefined): use is 'shared' | 'shared-read-only' {
  return use === 'shared' || use === 'shared-read-only';
}

/** Whether a tool may use the sandbox of a conversation. */
export function mayUseSandbox(use: SandboxUse | undefined, tool: string): boolean {
  return use !== 'none' && (use !== 'shared-read-only' || READING_TOOLS.includes(tool));
}

/** What bounds the tools of a conversation. */
export interface OfferLimits {
  /** No person can approve calls. */
  unattended?: boolean;
  /** The sandbox of a sub-agent that has none of its own. */
  sandboxUse?: SandboxUse;
}
