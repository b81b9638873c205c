import { RecentMap } from '../../common/recent-map.ts';
import type { Agent, SandboxOptions } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { elsewhereOf } from '../../sandbox/api/elsewhere.ts';
import { sandboxIdOf } from '../../contracts/ids.ts';
import { isShared, mayUseSandbox, type SandboxUse } from '../../contracts/sub-agents/sandbox-use.ts';
import { adoptSandbox } from '../../sandbox/api/adopt-sandbox.ts';
import type { OpenedSandbox, WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import type { CopyRequest } from '../../sandbox/api/snapshots.ts';
import { uploadAssets } from '../../sandbox/api/upload-assets.ts';
import type { SandboxUses } from '../../store/conversation/sandbox-uses.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { serversIn } from './servers-in-sandbox.ts';

export interface Conversation {
  conversationId: string;
  tenantId: string;
  agentId: string;
}

/** The conversations' sandboxes as one worker holds them: opened once, then reached without another query of the database. */
export interface ConversationSandboxes {
  /**
   * Returns the held handle, or opens the sandbox: its own, or the one that it shares. A handle wakes its sandbox by itself, so a held handle serves every tier
   * except a lost container.
   * @param tool what wants to use it
   * @param mayMove the caller can go on on another host, if this one is not to have the sandbox
   * @throws SANDBOX_REFUSED
   */
  open(conversation: Conversation, tool?: string, mayMove?: boolean): Promise<OpenedSandbox & { held: boolean }>;
  /** Returns the sandbox if it is awake; does not create or wake one. `build: false`: nor does it build one anew whose container has died. */
  ifAwake(conversation: Conversation, options?: { build?: false }): Promise<WorkerHandle | undefined>;
  /** The sandbox that the calls of a conversation use, if there is one. */
  rowOf(conversationId: string): Promise<SandboxRow | undefined>;
  /** What a sub-agent may do with a sandbox; absent for one of its own. */
  useOf(conversationId: string): Promise<SandboxUse | undefined>;
  /** Makes a sandbox for a sub-agent that begins, with a copy of the files of its parent. Without a sandbox of the parent, it makes none. */
  copy(from: Conversation, to: Conversation, isRepeated: boolean): Promise<void>;
  /** Drops a handle whose container is gone. */
  forget(conversationId: string): void;
  /** Id of the host of this worker's sandboxes. Absent where any worker reaches all sandboxes. */
  readonly hostId?: string;
  /** Whether its host is being drained. */
  isDraining(): boolean;
  /**
   * Passes when the sandbox may be opened here.
   * @throws SANDBOX_UNREACHABLE when it is on another host that is there
   */
  checkIsHere(conversationId: string): Promise<void>;
  /**
   * Passes when this host may make the conversation's sandbox, or none can now.
   * @throws SANDBOX_UNREACHABLE with a host that may
   */
  checkFits(conversation: Conversation): Promise<void>;
}

/** Handles that are kept at most; opening one again costs a few milliseconds. */
const MAX_HELD = 1000;
/** A copy whose sub-agent was never started is destroyed after this time. Milliseconds. */
const COPY_TTL_MS = 3_600_000;

type Use = Awaited<ReturnType<SandboxUses['of']>>;

interface Parts {
  sandboxes: Sandboxes;
  store: Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  agents: ReadonlyMap<string, Agent>;
}

export function createConversationSandboxes(parts: Parts): ConversationSandboxes {
  const held = new RecentMap<string, WorkerHandle>(MAX_HELD);
  const { knownUse, readUse } = rememberUses(parts.store.sandboxUses);
  const rows = parts.store.sandboxes;
  const { hostId } = parts.sandboxes;
  const rowOf = async (conversationId: string) => rowFor(rows, conversationId, await readUse(conversationId));
  return {
    ...(hostId !== undefined && { hostId }),
    isDraining: () => parts.sandboxes.isDraining?.() === true,
    async open(conversation, tool, mayMove = false) {
      const use = await readUse(conversation.conversationId);
      if (!use) return openOwn(conversation, { mayMove });
      const kind = use.sandbox.use;
      if (kind === 'none' || (tool !== undefined && !mayUseSandbox(kind, tool))) throw refusal(kind, tool);
      if (!isShared(kind)) return openOwn(conversation, { mayMove, isCopy: true });
      // Nothing is made or woken in the place of a conversation that has ended: its sandbox ended with it.
      if (!use.owner || (await hasEnded(parts.store, use.owner.conversationId)))
        throw failure('SANDBOX_NOT_FOUND', { sandboxId: `of the conversation that gave the task to ${conversation.conversationId}` });
      // Not held: whether a call was interrupted before there was a sandbox is to be looked up, which its owner may have opened.
      return { ...(await openOwn(hostOf(use, conversation), { mayMove })), held: false };
    },
    async ifAwake(conversation, { build } = {}) {
      const { conversationId, tenantId, agentId } = hostOf(await readUse(conversation.conversationId), conversation);
      const row = await rows.ofConversation(conversationId);
      if (row?.state !== 'running') return undefined;
      const known = held.get(conversationId);
      if (!known && build === false && (await parts.sandboxes.tier(row.sandboxId)) !== 'running') return undefined;
      // This handle is not held: an `open` for the conversation has to upload the assets first.
      return known ?? (await parts.sandboxes.open({ sandboxId: row.sandboxId, conversationId, tenantId }, optionsIn(parts.agents, agentId))).handle;
    },
    rowOf,
    useOf: async (conversationId) => (await readUse(conversationId))?.sandbox.use,
    async copy(from, to, isRepeated) {
      const source = hostOf(await readUse(from.conversationId), from);
      const row = await rows.ofConversation(source.conversationId);
      if (!row || row.state === 'destroyed') return;
      // A call that runs at the same time is making it, or its container has died.
      if (row.state === 'creating' || row.state === 'lost') await openOwn(source, {});
      const owner = { sandboxId: sandboxIdOf(to.conversationId), tenantId: to.tenantId, ttlMs: COPY_TTL_MS };
      const { sandboxId: _, ...options } = optionsIn(parts.agents, to.agentId);
      await parts.sandboxes.copyTo(row.sandboxId, { owner, options, ...whenRepeated(parts.store, source.conversationId, isRepeated) });
    },
    forget(conversationId) {
      held.delete(knownUse(conversationId)?.owner?.conversationId ?? conversationId);
    },
    checkFits: async (conversation) => checkFits(parts, hostOf(await readUse(conversation.conversationId), conversation)),
    checkIsHere: async (conversationId) => checkIsHere(parts.sandboxes, await rowOf(conversationId)),
  };

  async function openOwn(conversation: Conversation, { isCopy = false, mayMove = false }): Promise<OpenedSandbox & { held: boolean }> {
    const { conversationId, tenantId, agentId } = conversation;
    // The sandbox may have been taken from a host that is being drained, and is not to come back there.
    const known = parts.sandboxes.isDraining?.() === true ? undefined : held.get(conversationId);
    if (known) return { handle: known, held: true };
    const options = optionsIn(parts.agents, agentId);
    if (isCopy) await adoptCopy(rows, conversationId);
    const sandboxId = await findSandbox(rows, conversation, isCopy ? { ...options, sandboxId: undefined } : options);
    const opened = await parts.sandboxes.open({ sandboxId, conversationId, tenantId, ...(mayMove && { mayMove }) }, options);
    if (options.assets) await uploadAssets(opened.handle, options.assets);
    endForeignServers(opened.handle, serversIn(parts.agents, agentId)).catch(() => undefined);
    // With the next turn, another sandbox replaces it, possibly through another worker.
    if (options.persist === false) return { ...opened, held: false };
    held.set(conversationId, opened.handle);
    return { ...opened, held: false };
  }
}

/** A conversation that was removed has ended, too. */
async function hasEnded({ conversations }: Pick<Store, 'conversations'>, conversationId: string): Promise<boolean> {
  const state = await conversations.stateOf(conversationId);
  return state === undefined || state === 'closed';
}

async function rowFor(rows: Store['sandboxes'], conversationId: string, use: Use): Promise<SandboxRow | undefined> {
  if (use?.owner) return rows.ofConversation(use.owner.conversationId);
  return (await rows.ofConversation(conversationId)) ?? (use?.sandbox.use === 'fork' ? adoptCopy(rows, conversationId) : undefined);
}

async function checkFits({ sandboxes, agents }: Pick<Parts, 'sandboxes' | 'agents'>, { conversationId, tenantId, agentId }: Conversation): Promise<void> {
  await sandboxes.checkFits?.({ sandboxId: sandboxIdOf(conversationId), conversationId, tenantId }, optionsIn(agents, agentId));
}

async function checkIsHere(sandboxes: Sandboxes, row: SandboxRow | undefined): Promise<void> {
  if (!row || row.state === 'destroyed') return;
  // What else is wrong with it is found when it is opened, which takes over the sandbox of a host that is lost.
  await sandboxes.tier(row.sandboxId).catch((error: unknown) => {
    if (elsewhereOf(error)) throw error;
  });
}

/** For a copy of a conversation's sandbox: a repeated attempt wakes it, unless the conversation is paused. */
export function whenRepeated({ conversations }: Pick<Store, 'conversations'>, conversationId: string, isRepeated: boolean): Pick<CopyRequest, 'staysFrozen'> {
  return isRepeated ? { staysFrozen: async () => (await conversations.get(conversationId))?.state === 'paused' } : {};
}

function optionsIn(agents: ReadonlyMap<string, Agent>, agentId: string): SandboxOptions {
  const agent = agents.get(agentId);
  if (agent) return agent.sandbox;
  const known = [...agents.keys()].join(', ') || 'none';
  throw failure('AGENT_NOT_FOUND', { agent: agentId, known, directory: "the workers' agents directory and restart them" });
}

/** Where sub-agents work never changes, and is known as soon as their conversations are. */
function rememberUses(rows: SandboxUses) {
  const uses = new RecentMap<string, { use: Use }>(MAX_HELD);
  return {
    knownUse: (conversationId: string): Use => uses.get(conversationId)?.use,
    readUse: async (conversationId: string): Promise<Use> => {
      const known = uses.get(conversationId);
      if (known) return known.use;
      const use = await rows.of(conversationId);
      uses.set(conversationId, { use });
      return use;
    },
  };
}

/** The copy that was made for a sub-agent belongs to its conversation from now on, and no longer expires. */
async function adoptCopy(rows: Store['sandboxes'], conversationId: string): Promise<SandboxRow | undefined> {
  const row = await rows.get(sandboxIdOf(conversationId));
  return row && (row.conversationId === conversationId ? row : rows.adopt(row.sandboxId, row.tenantId, conversationId));
}

/** The conversation whose sandbox a conversation uses. */
function hostOf(use: Use, conversation: Conversation): Conversation {
  return use?.owner ? { ...use.owner, tenantId: conversation.tenantId } : conversation;
}

function refusal(use: SandboxUse, tool = 'this call'): Error {
  const problem = use === 'none' ? 'it works without a sandbox' : 'it may only read the files of the sandbox that it shares';
  return failure('SANDBOX_REFUSED', { tool, problem });
}

/** Ends servers that an earlier worker started and that no agent names that works in the sandbox. No caller waits for it. */
async function endForeignServers(handle: WorkerHandle, names: string[]): Promise<void> {
  await handle.endServers(names);
}

/** The id of the sandbox that the conversation has, or will have. @throws SANDBOX_NOT_FOUND, SANDBOX_IN_USE */
async function findSandbox(
  rows: Store['sandboxes'],
  { conversationId, tenantId }: Pick<Conversation, 'conversationId' | 'tenantId'>,
  { persist, sandboxId }: Pick<SandboxOptions, 'persist'> & { sandboxId?: string | undefined },
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
