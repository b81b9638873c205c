import type { FreezeSandboxArgs, HibernateSandboxArgs, SandboxActionArgs, SandboxActionResult } from '../contracts/activities.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import type { Agent } from '../contracts/agent.ts';
import { isShared } from '../contracts/sub-agents/sandbox-use.ts';
import type { SandboxRow } from '../store/sandbox-rows.ts';
import type { Store } from '../store/store.ts';
import { tierOf } from '../tool-calls/results/tier-of.ts';
import { letGoOfShared } from '../tool-calls/run/shared/let-go-of-shared.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';

interface Parts {
  store: Pick<Store, 'conversations' | 'sandboxes' | 'sandboxUses'>;
  sandboxes: Sandboxes;
  agents: ReadonlyMap<string, Agent>;
  opened: ConversationSandboxes;
}
type Action = (conversation: SandboxActionArgs) => Promise<SandboxActionResult>;

/** Moves the conversation's sandbox between its tiers. A conversation that has none yet stays at `none`. */
export function createSandboxLifecycle(parts: Parts) {
  const { store, sandboxes, opened } = parts;
  const { action, pausing } = createActions(opened);
  const freezeForPause = pausing((sandboxId) => sandboxes.freeze(sandboxId, { mode: 'pause' }));
  return {
    freezeSandbox: ({ mode = 'pause', ...conversation }: FreezeSandboxArgs) => (mode === 'idle' ? freezeIdle(conversation) : freezeForPause(conversation)),
    hibernateSandbox: ({ otherwise, ...conversation }: HibernateSandboxArgs) =>
      action((sandboxId) => sandboxes.hibernate(sandboxId, { otherwise }))(conversation),
    archiveSandbox: ({ otherwise, ...conversation }: HibernateSandboxArgs) =>
      action(async (sandboxId, conversationId) => {
        const tier = await sandboxes.archive(sandboxId, { otherwise });
        // The sandbox may wake on another host. Without a held handle, the next open reports what the archive did not contain.
        opened.forget(conversationId);
        return tier;
      })(conversation),
    wakeSandbox: pausing((sandboxId) => sandboxes.wake(sandboxId)),
    stopSandbox: ending(
      parts,
      action((sandboxId) => sandboxes.stop(sandboxId)),
    ),
    destroySandbox: ending(
      parts,
      action(
        async (sandboxId, conversationId, { state }) => {
          try {
            await sandboxes.destroy(sandboxId);
          } catch (error) {
            // A copy whose worker died uses its volume until the copying ends: the reaper removes it then. The conversation does not wait for that.
            if (state !== 'destroyed' || !isFailure(error, 'SANDBOX_CONFLICT')) throw error;
          }
          opened.forget(conversationId);
          return 'destroyed';
        },
        // An attempt whose worker died may have changed the row and removed nothing yet.
        { alsoDestroyed: (row) => row.hostId === opened.hostId },
      ),
    ),
  };

  /** Who shares a sandbox and is idle freezes it, unless the others work in it. A command that starts meanwhile wakes it. */
  async function freezeIdle({ conversationId }: SandboxActionArgs): Promise<SandboxActionResult> {
    const row = await opened.rowOf(conversationId);
    if (!row) return { sandboxTier: 'none' };
    const owner = row.conversationId ?? conversationId;
    if (row.state === 'running' && (await store.sandboxUses.isBusy(owner, conversationId))) return { sandboxTier: 'running' };
    if (row.state === 'destroyed') return { sandboxTier: 'destroyed' };
    return { sandboxTier: await sandboxes.freeze(row.sandboxId, { mode: 'idle' }).catch(tierAfterFailure) };
  }
}

/** What conversations end with. */
function ending(parts: Parts, act: Action): Action {
  return async (conversation) => {
    await letGoOfShared(parts, conversation.conversationId);
    return act(conversation);
  };
}

function createActions(opened: ConversationSandboxes) {
  /** A conversation that shares the sandbox of another one leaves it as it is. */
  const action =
    (
      change: (sandboxId: string, conversationId: string, row: SandboxRow) => Promise<SandboxTier>,
      { alsoDestroyed }: { alsoDestroyed?: (row: SandboxRow) => boolean } = {},
    ): Action =>
    async ({ conversationId }) => {
      const row = await opened.rowOf(conversationId);
      if (!row || isShared(await opened.useOf(conversationId))) return { sandboxTier: 'none' };
      if (row.state === 'destroyed' && alsoDestroyed?.(row) !== true) return { sandboxTier: 'destroyed' };
      return { sandboxTier: await change(row.sandboxId, conversationId, row).catch(tierAfterFailure) };
    };
  return {
    action,
    /** Where a pause begins or ends. Who shares the sandbox learns how it is: one that runs is frozen when that one has been idle. */
    pausing:
      (change: (sandboxId: string) => Promise<SandboxTier>): Action =>
      async (conversation) => {
        const row = isShared(await opened.useOf(conversation.conversationId)) ? await opened.rowOf(conversation.conversationId) : undefined;
        return row ? { sandboxTier: tierOf(row) } : action(change)(conversation);
      },
  };
}

/** A sandbox that is gone is an expected outcome of these actions; the next tool call decides how to handle it. */
function tierAfterFailure(error: unknown): SandboxTier {
  if (isFailure(error, 'SANDBOX_LOST')) return 'lost';
  if (isFailure(error, 'SANDBOX_DESTROYED')) return 'destroyed';
  if (isFailure(error, 'SANDBOX_NOT_FOUND')) return 'none';
  throw error;
}
