import { Context } from '@temporalio/activity';
import type { NewEvent } from '../../store/store.ts';

/**
 * Keys the events of an activity by the activity itself, which has the same id in all its attempts: one that follows an attempt whose result was lost appends
 * none of them again. Every attempt has to make the same events in the same order, and to give all of them at once.
 */
export function onceEach(events: NewEvent[]): NewEvent[] {
  const { workflowExecution, activityId } = Context.current().info;
  return events.map((event, index) => ({ ...event, key: `${workflowExecution?.runId ?? ''}/${activityId}/${index}` }));
}
