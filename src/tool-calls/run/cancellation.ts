import { Context } from '@temporalio/activity';
import { failure } from '../../contracts/errors.ts';

/**
 * Why an activity was cancelled. `requested`: the workflow requested it. `held`: an operator paused or reset the activity in Temporal.
 * `moved`: this worker shuts down, or Temporal has given up on this attempt; another attempt will follow or already runs.
 */
export type Cancellation = 'requested' | 'held' | 'moved';

/**
 * Reads why an activity was cancelled; only a request of the workflow may end the work of a tool.
 * A listener of the cancellation signal has to pass the activity's context: the listener does not run within it.
 */
export function whyCancelled(context = Context.current()): Cancellation {
  const details = context.cancellationDetails;
  if (details?.cancelRequested && !details.workerShutdown && !details.timedOut) return 'requested';
  return details?.paused || details?.reset ? 'held' : 'moved';
}

/** Returns the error that makes Temporal retry the call later. */
export function comeBackLater(callId: string, cancellation: Exclude<Cancellation, 'requested'>, context = Context.current()): unknown {
  // The SDK reports a pause or a reset by an operator only for its own cancellation error.
  return cancellation === 'held' ? context.cancellationSignal.reason : failure('DETACHED', { execId: callId });
}
