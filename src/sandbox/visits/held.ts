import { failure } from '../../contracts/errors.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { ConversationRow, Store } from '../../store/store.ts';

type Desk = { store: Pick<Store, 'conversations'> };
type UseDesk = { store: Pick<Store, 'conversations' | 'sandboxUses'> };

/** The conversation that has a sandbox and may still use it. */
export async function ownerOf({ store }: Desk, row: SandboxRow): Promise<ConversationRow | undefined> {
  if (row.conversationId === undefined) return undefined;
  const conversation = await store.conversations.get(row.conversationId);
  return conversation?.state === 'closed' ? undefined : conversation;
}

/** Refuses to wake a sandbox that a pause or a copy holds: the frozen command would continue, and the copy would have to begin again. @throws SANDBOX_HELD, SANDBOX_DESTROYED, INVALID_ARGUMENT */
export async function checkVisit(desk: Desk, row: SandboxRow, { force, fix }: { force: boolean; fix?: string }): Promise<void> {
  const { sandboxId, conversationId = '' } = row;
  if (row.state === 'destroyed') throw failure('SANDBOX_DESTROYED', { sandboxId });
  refuseWarm(row);
  if (force || (row.state !== 'frozen' && row.state !== 'hibernated')) return;
  const state = (await ownerOf(desk, row))?.state;
  if (state === 'paused') {
    throw failure('SANDBOX_HELD', {
      sandboxId,
      conversationId,
      problem: 'which is paused, and its running command would continue',
      fix: fix ?? `Resume it (longshore resume ${conversationId}), or add --force`,
    });
  }
  // A pause freezes the sandbox before the conversation says that it is paused.
  if (state === 'running' && row.paused === true) {
    throw failure('SANDBOX_HELD', {
      sandboxId,
      conversationId,
      problem: 'for which it is frozen by a pause or a copy, and a running command would continue',
      fix: `Try again later${fix === undefined ? ', or add --force' : ''}`,
    });
  }
}

/** Refuses to put a sandbox to rest while a conversation works in it: its commands would stop or end. @throws SANDBOX_HELD */
export async function checkRest(desk: UseDesk, row: SandboxRow, force: boolean): Promise<void> {
  refuseWarm(row);
  const owner = force ? undefined : await ownerOf(desk, row);
  const worker = owner && (await workerIn(desk, owner));
  if (!owner || worker === undefined) return;
  const { conversationId } = owner;
  throw failure('SANDBOX_HELD', {
    sandboxId: row.sandboxId,
    conversationId,
    problem: worker === conversationId ? 'which is using it' : `whose sub-agent "${worker}" is using it`,
    // Also for a sub-agent, whose own pause leaves its commands running in a sandbox that it shares.
    fix: `Pause it (longshore pause ${conversationId} --mode now), or add --force`,
  });
}

/** The conversation that works in a sandbox: its owner, or a sub-agent that shares it. */
export async function workerIn({ store }: UseDesk, { conversationId, state }: ConversationRow): Promise<string | undefined> {
  return state === 'running' ? conversationId : store.sandboxUses.guestAtWork(conversationId);
}

/** Refuses to remove a sandbox of an open conversation: the conversation's files would be lost. @throws SANDBOX_HELD */
export async function checkRemoval(desk: Desk, row: SandboxRow, force: boolean): Promise<void> {
  const owner = force ? undefined : await ownerOf(desk, row);
  if (!owner) return;
  const { conversationId } = owner;
  throw failure('SANDBOX_HELD', {
    sandboxId: row.sandboxId,
    conversationId,
    problem: `which is ${owner.state} and has its files there`,
    fix: `Close it (longshore close ${conversationId}), or add --force`,
  });
}

/** A warm sandbox belongs to a pool, and in another state no conversation could claim it. */
function refuseWarm({ sandboxId, state }: SandboxRow): void {
  if (state !== 'warm') return;
  throw failure('INVALID_ARGUMENT', {
    what: sandboxId,
    problem: 'it is kept ready for a conversation',
    fix: 'Use another sandbox, or wait until a conversation has taken it over',
  });
}
