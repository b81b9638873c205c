import type { Agent } from '../contracts/agent.ts';
import { failure } from '../contracts/errors.ts';
import type { OpenedSandbox, SandboxHandle, Sandboxes } from '../sandbox/sandbox.ts';

/** Name of the conversation's sandbox; derived, so that a repeated open finds what the first one made. */
export function sandboxIdOf(conversationId: string): string {
  return `sbx_${conversationId.replace(/^conv_/, '')}`;
}

/** The conversations' sandboxes as one worker holds them: opened once, then reached without asking the database again. */
export interface ConversationSandboxes {
  /** The held handle, or an opened sandbox. A handle wakes its sandbox by itself, so a held one serves every tier but a lost container. */
  open(conversation: { conversationId: string; tenantId: string; agentId: string }): Promise<OpenedSandbox & { held: boolean }>;
  /** Lets go of a handle whose container is gone. */
  forget(conversationId: string): void;
}

/** Handles kept at most; opening one again costs a few milliseconds. */
const MAX_HELD = 1000;

export function createConversationSandboxes(parts: { sandboxes: Sandboxes; agents: ReadonlyMap<string, Agent> }): ConversationSandboxes {
  const held = new Map<string, SandboxHandle>();
  return {
    async open({ conversationId, tenantId, agentId }) {
      const known = held.get(conversationId);
      if (known) return { handle: known, held: true };
      const opened = await parts.sandboxes.open({ sandboxId: sandboxIdOf(conversationId), conversationId, tenantId }, optionsOf(agentId));
      if (held.size >= MAX_HELD) held.delete(held.keys().next().value ?? '');
      held.set(conversationId, opened.handle);
      return { ...opened, held: false };
    },
    forget(conversationId) {
      held.delete(conversationId);
    },
  };

  function optionsOf(agentId: string) {
    const agent = parts.agents.get(agentId);
    if (agent) return agent.sandbox;
    const known = [...parts.agents.keys()].join(', ') || 'none';
    throw failure('AGENT_NOT_FOUND', { agent: agentId, known, directory: 'the agents directory' });
  }
}
