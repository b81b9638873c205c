import type { DueTimer } from '../../store/conversation/plugin-timers.ts';
import type { Store } from '../../store/store.ts';
import { tellOnce, wakeIdOf, type TaskParts } from './answer-task.ts';

const AT_ONCE = 100;

interface Parts extends Pick<TaskParts, 'wake'> {
  store: Pick<Store, 'events' | 'transcript' | 'pluginTimers'>;
}

/** Gives timers of plugins that are due to their conversations, as notes that wake them: once each, also when this is cut off and another worker repeats it. */
export async function fireTimers(parts: Parts): Promise<void> {
  const failures: unknown[] = [];
  for (const timer of await parts.store.pluginTimers.due(AT_ONCE)) await fire(parts, timer).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function fire({ store, wake }: Parts, timer: DueTimer): Promise<void> {
  const { conversationId, pluginId, timerId, dueMs, text, turnId } = timer;
  if (turnId !== undefined) {
    const said = `From ${pluginId}: a timer, which was due at ${new Date(dueMs).toISOString()}: ${text}`;
    await tellOnce({ store }, { conversationId, turnId, key: `timer-${pluginId}-${timerId}`, text: said });
    await wake(conversationId, wakeIdOf('timer', pluginId, timerId));
  }
  await store.pluginTimers.wentOff(timer);
}
