import { setTimeout as sleep } from 'node:timers/promises';
import type { Longshore } from '../../client/types.ts';
import type { AuditSource } from '../../contracts/audit.ts';
import { isFailure } from '../../contracts/errors.ts';
import { pseudonymOf } from '../../platform/pseudonym.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import type { ConversationRow, Store } from '../../store/store.ts';
import { fateOf } from '../../client/temporal/fate-of.ts';
import type { Histories } from './histories.ts';
import { removeConversation, type RemovalParts } from './remove-conversation.ts';

export interface ErasureParts extends RemovalParts {
  store: Pick<Store, 'audit' | 'conversations' | 'memory' | 'removal' | 'sandboxes' | 'snapshots'>;
  sandboxes: Pick<Sandboxes, 'destroy' | 'removeSnapshot'>;
  longshore: Pick<Longshore, 'close' | 'schedules'>;
  histories: Histories;
  by: AuditSource;
  /** Milliseconds in which an open conversation has to close. */
  closeMs: number;
}

export interface UserOfTenant {
  tenantId: string;
  userId: string;
}

/** What was removed, and what could not be. */
export interface Erased {
  conversations: number;
  schedules: number;
  entries: number;
  /** Files that agents kept between conversations. */
  memory: number;
  /** Conversations that did not close, or whose sandbox is on another host. The command has to be repeated for them. */
  left: { conversationId: string; why: 'open' | 'elsewhere' }[];
  /** Conversations and schedules that Temporal still lists. */
  histories: string[];
}

const PAGE = 50;
const POLL_MS = 100;
/** Workers, which leave histories alone, go on with what an interrupted erasure has begun when it is not repeated for so long. */
const HELD_MS = 86_400_000;

/** Removes what belongs to a user. Each step may be repeated: what an interruption leaves is found by the next run. */
export async function eraseUser(parts: ErasureParts, user: UserOfTenant): Promise<Erased> {
  const { store, by } = parts;
  // The id of the user is not written into the log, since the log cannot be erased.
  await store.audit.add({ ...by, action: 'user.erase', target: pseudonymOf(user), tenantId: user.tenantId });
  const schedules = await schedulesOf(parts, user);
  const histories: string[] = [];
  for (const id of schedules) {
    await deleteSchedule(parts, id);
    if (!(await parts.histories.removeRunsOf(id))) histories.push(id);
  }
  const left: Erased['left'] = [];
  let conversations = 0;
  // Those that are left come first again: the page grows by their number.
  for (let rows = await page(parts, user, left); rows.length > 0; rows = await page(parts, user, left)) {
    for (const row of rows) {
      const end = await eraseConversation(parts, row, histories);
      if (end === 'removed') conversations += 1;
      else left.push({ conversationId: row.conversationId, why: end });
    }
  }
  // Last, since an open conversation may write until it has closed.
  const memory = await store.memory.eraseUser(user.tenantId, user.userId);
  const entries = await store.removal.removeUserEntries(user.tenantId, user.userId);
  await store.removal.sweep();
  return { conversations, schedules: schedules.length, entries, memory, left, histories };
}

export async function schedulesOf({ longshore }: Pick<ErasureParts, 'longshore'>, { tenantId, userId }: UserOfTenant): Promise<string[]> {
  return (await longshore.schedules.list()).filter(({ tenant, user }) => tenant === tenantId && user === userId).map(({ id }) => id);
}

async function deleteSchedule({ longshore }: ErasureParts, id: string): Promise<void> {
  try {
    await longshore.schedules.delete(id);
  } catch (error) {
    // Another caller has deleted it since the list was read.
    if (!isFailure(error, 'SCHEDULE_NOT_FOUND')) throw error;
  }
}

async function page({ store }: ErasureParts, user: UserOfTenant, left: Erased['left']): Promise<ConversationRow[]> {
  const rows = await store.conversations.list({ ...user, limit: PAGE + left.length });
  return rows.filter(({ conversationId }) => !left.some((known) => known.conversationId === conversationId));
}

async function eraseConversation(parts: ErasureParts, row: ConversationRow, listed: string[]): Promise<'removed' | 'open' | 'elsewhere'> {
  const { store, histories } = parts;
  const { conversationId, status } = row;
  // A round of a worker may remove it in this very moment.
  const isGone = async () => (await store.conversations.stateOf(conversationId)) === undefined;
  if (row.state !== 'closed' && !(await close(parts, row))) return 'open';
  // Before the conversation and its sandbox, without which nothing says whose they are.
  await removeSnapshots(parts, conversationId);
  if (!(await store.removal.begin(conversationId, HELD_MS))) return (await isGone()) ? 'removed' : 'open';
  if (!(await hasEnded(parts, conversationId))) {
    await store.removal.cancel(conversationId);
    return 'open';
  }
  const own = await histories.remove(conversationId);
  const starter = !status.scheduledBy || (await histories.removeRunsOf(status.scheduledBy.scheduleId, status.scheduledBy.at));
  if (!own || !starter) listed.push(conversationId);
  // The row goes last: a run that was interrupted finds the rest by it.
  const end = await removeConversation(parts, conversationId);
  if (end === 'removed' || (await isGone())) return 'removed';
  if (end === 'kept') return 'open';
  // A worker of its host goes on.
  await store.removal.begin(conversationId);
  return 'elsewhere';
}

/** Closes it and waits; its worker ends the running turn and releases the sandbox. */
async function close({ store, longshore, workflows, closeMs }: ErasureParts, { conversationId }: ConversationRow): Promise<boolean> {
  try {
    await longshore.close(conversationId);
  } catch (error) {
    if (!isFailure(error, 'CONVERSATION_NOT_FOUND')) throw error;
  }
  const deadline = performance.now() + closeMs;
  const isClosed = async () => (await store.conversations.get(conversationId))?.state === 'closed';
  while (!(await isClosed())) {
    if (performance.now() > deadline) return false;
    // Its workflow was ended in Temporal, so nothing else will close the row.
    if ((await fateOf(workflows, conversationId)) !== 'alive') await store.conversations.close(conversationId, { by: 'erasure' });
    else await sleep(POLL_MS);
  }
  return true;
}

/** A workflow ends a moment after its row is closed. */
async function hasEnded({ workflows, closeMs }: ErasureParts, conversationId: string): Promise<boolean> {
  const deadline = performance.now() + closeMs;
  while ((await fateOf(workflows, conversationId)) === 'alive') {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Snapshots with a name outlive a sandbox, but not its user's data. Their own hosts remove the volumes. */
async function removeSnapshots({ store, sandboxes }: ErasureParts, conversationId: string): Promise<void> {
  const sandbox = await store.sandboxes.ofConversation(conversationId);
  if (!sandbox) return;
  const { sandboxId, tenantId } = sandbox;
  for (const { snapshotId } of await store.snapshots.list({ sandboxId, tenantId })) await sandboxes.removeSnapshot(snapshotId);
}
