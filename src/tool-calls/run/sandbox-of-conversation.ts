import { RecentMap } from '../../common/recent-map.ts';
import type { Agent, SandboxOptions } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { adoptSandbox } from '../../sandbox/api/adopt-sandbox.ts';
import type { OpenedSandbox, WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import { uploadAssets } from '../../sandbox/api/upload-assets.ts';
import type { Store } from '../../store/store.ts';

/** Id of the conversation's sandbox; derived from the conversation's id, so that a repeated open finds the same sandbox. */
export function sandboxIdOf(conversationId: string): string {
  return `sbx_${conversationId.replace(/^conv_/, '')}`;
}

interface Conversation {
  conversationId: string;
  tenantId: string;
  agentId: string;
}

/** The conversations' sandboxes as one worker holds them: opened once, then reached without another query of the database. */
export interface ConversationSandboxes {
  /** Returns the held handle, or opens the sandbox. A handle wakes its sandbox by itself, so a held handle serves every tier except a lost container. */
  open(conversation: Conversation): Promise<OpenedSandbox & { held: boolean }>;
  /** Returns the sandbox if it is awake; does not create or wake one. */
  ifAwake(conversation: Conversation): Promise<WorkerHandle | undefined>;
  /** Drops a handle whose container is gone. */
  forget(conversationId: string): void;
}

/** Handles that are kept at most; opening one again costs a few milliseconds. */
const MAX_HELD = 1000;

export function createConversationSandboxes(parts: {
  sandboxes: Sandboxes;
  store: Pick<Store, 'sandboxes'>;
  agents: ReadonlyMap<string, Agent>;
}): ConversationSandboxes {
  const held = new RecentMap<string, WorkerHandle>(MAX_HELD);
  return {
    async open({ conversationId, tenantId, agentId }) {
      const known = held.get(conversationId);
      if (known) return { handle: known, held: true };
      const options = optionsOf(agentId);
      const sandboxId = await findSandbox(parts.store.sandboxes, { conversationId, tenantId }, options);
      const opened = await parts.sandboxes.open({ sandboxId, conversationId, tenantId }, options);
      if (options.assets) await uploadAssets(opened.handle, options.assets);
      endForeignServers(opened.handle, parts.agents.get(agentId)).catch(() => undefined);
      // With the next turn, another sandbox replaces it, possibly through another worker.
      if (options.persist === false) return { ...opened, held: false };
      held.set(conversationId, opened.handle);
      return { ...opened, held: false };
    },
    async ifAwake({ conversationId, tenantId, agentId }) {
      const row = await parts.store.sandboxes.ofConversation(conversationId);
      if (row?.state !== 'running') return undefined;
      const known = held.get(conversationId);
      // This handle is not held: an `open` for the conversation has to upload the assets first.
      return known ?? (await parts.sandboxes.open({ sandboxId: row.sandboxId, conversationId, tenantId }, optionsOf(agentId))).handle;
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

/** Ends servers that an earlier worker started and that the agent no longer names. No caller waits for it. */
async function endForeignServers(handle: WorkerHandle, agent: Pick<Agent, 'mcp'> | undefined): Promise<void> {
  await handle.endServers(Object.keys(agent?.mcp ?? {}));
}

/** The id of the sandbox that the conversation has, or will have. @throws SANDBOX_NOT_FOUND, SANDBOX_IN_USE */
async function findSandbox(
  rows: Store['sandboxes'],
  { conversationId, tenantId }: { conversationId: string; tenantId: string },
  { persist, sandboxId }: SandboxOptions,
): Promise<string> {
  if (persist === undefined && sandboxId === undefined) return sandboxIdOf(conversationId);
  const present = await rows.ofConversation(conversationId);
  // The sandbox of an earlier turn: its container and its files are gone, and its row is not needed any more.
  if (persist === false && present?.state === 'destroyed') await rows.remove(present.sandboxId);
  else if (present) return present.sandboxId;
  if (sandboxId === undefined) return sandboxIdOf(conversationId);
  await adoptSandbox(rows, { sandboxId, tenantId, conversationId });
  return sandboxId;
}
