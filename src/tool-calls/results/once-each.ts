import { Context } from '@temporalio/activity';
import type { NewEvent } from '../../store/store.ts';

/**
 * Gives each event of an activity a key that is made of the activity's id, which is the same in all its attempts. Drops events that an earlier attempt
 * appended before its result was lost. Every attempt must make the same events in the same order, and pass all of them at once.
 */
export function onceEach(events: NewEvent[]): NewEvent[] {
  const { workflowExecution, activityId } = Context.current().info;
  return events.map((event, index) => ({ ...event, key: `${workflowExecution?.runId ?? ''}/${activityId}/${index}` }));
}
