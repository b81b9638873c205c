import { ActivityFailure, CancellationScope, isCancellation, log, patched, TimeoutFailure } from '@temporalio/workflow';
import { createTurns } from '../common/turns.ts';
import type { CallModelArgs } from '../contracts/activities.ts';
import type { ConversationStatus } from '../contracts/conversation.ts';
import { makeId } from '../contracts/ids.ts';
import type { LeftForPlugins } from '../contracts/usage.ts';
import { acceptMessage, saveStatus } from './activities.ts';
import { tasksMayUse } from './state/asked-state.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { mustEnd } from './state/conversation-state.ts';
import { statusOf } from './state/conversation-status.ts';
import { showToOperators } from './show/show-to-operators.ts';

/** Patch id. Before it, a call whose worker died while the call was let go for a pause ended as failed. */
const DEATH_IN_CANCEL = 'death-in-cancel';

/** A running conversation: its state, and the only way by which that state is saved and shown. */
export interface RunningConversation {
  readonly data: ConversationData;
  /**
   * Calls `look` now and after every change from outside, until the returned function is called. Work that a change may end is watched in this way:
   * a `condition` that is met would cost another round through the workflow's isolate, for every call.
   */
  watch(look: () => void): () => void;
  /** Applies a change from outside: runs it and calls the watchers. */
  change<T>(work: () => T): T;
  /** Shows the state to operators. Cheap; called after every change. */
  show(): void;
  /** Saves the status and the waiting events, unless nothing has changed. */
  save(): Promise<void>;
  /** Saves in the background; a failed save is repeated with the next change. */
  saveSoon(): void;
  /** True when nothing waits to be saved. */
  isSaved(): boolean;
  /** True when all sub-agents know of the pause, or of its end. */
  hasPassedOnPauses: () => boolean;
  /** Runs an activity that itself saves the given status. */
  saveWith(work: (status: ConversationStatus) => Promise<void>): Promise<void>;
  /**
   * What a model call that starts now has to accept, with the status that it saves. Until it has ended, each save accepts that itself before anything else:
   * nothing comes before a message in the log, and the status of the model call, which is saved only with the message, replaces no later one.
   */
  takeUnaccepted(): CallModelArgs['accepts'];
  /** Runs work one after the other with all saves, so that nothing older is written after something newer. */
  inOrder: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Combines the state with the functions that save and show it. */
export function runConversation(data: ConversationData): RunningConversation {
  const show = showToOperators(data);
  const { inTurn: inOrder, isFree: isIdle } = createTurns();
  let saved = '';
  /** A save in the background is scheduled; it will include all changes until it starts. */
  let saving = false;

  /** Everything in the status except the clock: time alone is no reason to save. */
  function facts(): string {
    return JSON.stringify({ ...statusOf(data, Date.now()), workedMs: 0 });
  }

  /** What tasks may use is saved with the rest, and is no reason to save either. */
  function statusToSave(): ConversationStatus & Pick<LeftForPlugins, 'tasksMayUse'> {
    saved = facts();
    return { ...statusOf(data, Date.now()), ...tasksMayUse(data, Date.now()) };
  }

  const changed = () => data.outbox.length > 0 || facts() !== saved;

  async function saveChanges(): Promise<void> {
    await acceptUnaccepted(data, statusToSave);
    if (!changed()) return;
    const events = data.outbox.splice(0);
    try {
      const { serviceUrl } = (await saveStatus({ status: statusToSave(), events })) ?? {};
      if (serviceUrl === undefined || serviceUrl === data.serviceUrl) return;
      data.serviceUrl = serviceUrl;
      show();
    } catch (error) {
      data.outbox.unshift(...events);
      saved = '';
      throw error;
    }
  }

  function save(): Promise<void> {
    show();
    return inOrder(saveChanges);
  }

  return {
    data,
    ...watching(),
    show,
    save,
    inOrder,
    isSaved: () => isIdle() && data.outbox.length === 0,
    hasPassedOnPauses: () => true,
    saveSoon() {
      // Many messages that change nothing must stay cheap: every replay processes all of them again.
      if (saving || !changed()) return;
      show();
      saving = true;
      const done = inOrder(() => {
        saving = false;
        return saveChanges();
      });
      done.catch((error: unknown) => log.warn('The status could not be saved', { error: String(error) }));
    },
    takeUnaccepted: () => (hasUnaccepted(data) ? { messages: data.turn?.unaccepted ?? [], status: statusToSave() } : undefined),
    saveWith(work) {
      show();
      return inOrder(async () => {
        if (data.outbox.length > 0 || hasUnaccepted(data)) await saveChanges();
        await work(statusToSave());
      });
    },
  };
}

function hasUnaccepted({ turn }: ConversationData): boolean {
  return turn !== undefined && turn.unaccepted.length > 0;
}

async function acceptUnaccepted({ conversationId, turn }: ConversationData, statusToSave: () => ConversationStatus): Promise<void> {
  if (turn === undefined) return;
  for (let [first] = turn.unaccepted; first !== undefined; [first] = turn.unaccepted) {
    await acceptMessage({ conversationId, turnId: turn.turnId, ...first, status: statusToSave(), eventsOf: 'message' });
    turn.unaccepted = turn.unaccepted.filter((other) => other !== first);
  }
}

/** The watchers of changes, called in the order of their registration. */
function watching(): Pick<RunningConversation, 'watch' | 'change'> {
  const watchers = new Set<() => void>();
  return {
    watch(look) {
      // A change may come from a cancelled scope, such as that of a handler. What `look` starts must belong to the watcher's scope.
      const scope = CancellationScope.current();
      const watcher = () => void scope.run(async () => look());
      watchers.add(watcher);
      look();
      return () => void watchers.delete(watcher);
    },
    change(work) {
      const result = work();
      for (const look of watchers) look();
      return result;
    },
  };
}

/** Runs work that is cancelled when the running work of the conversation has to end. */
export async function unlessEnded<Result>(running: RunningConversation, work: () => Promise<Result>): Promise<Result | 'ended'> {
  const scope = new CancellationScope();
  const result = scope.run(work);
  const unwatch = running.watch(() => {
    if (mustEnd(running.data)) scope.cancel();
  });
  try {
    return await result;
  } catch (error) {
    if (endedByCancel(error, scope)) return 'ended';
    throw error;
  } finally {
    unwatch();
  }
}

/** Whether an activity ended because its scope was cancelled: it says so, or its worker died before it could. */
export function endedByCancel(error: unknown, scope: Pick<CancellationScope, 'consideredCancelled'>): boolean {
  if (isCancellation(error)) return true;
  return scope.consideredCancelled && error instanceof ActivityFailure && error.cause instanceof TimeoutFailure && patched(DEATH_IN_CANCEL);
}

/** An id from the workflow's own clock and randomness, the same on every replay. */
export function newId(prefix: 'turn' | 'step' | 'msg' | 'cmp' | 'rewind'): string {
  return makeId(prefix, Date.now(), Math.random);
}
