import { Context } from '@temporalio/activity';
import type { PlaceCaller } from '../../store/conversation/turn-places.ts';

/** The activity that runs now, for the order of what asks for the place of a turn. Temporal numbers the activities of a run as its workflow begins them. */
export function placeCaller(): PlaceCaller | undefined {
  const { workflowExecution, activityId } = Context.current().info;
  const number = Number(activityId);
  return workflowExecution && Number.isSafeInteger(number) ? { run: workflowExecution.runId, number } : undefined;
}
