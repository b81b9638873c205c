import { Context } from '@temporalio/activity';
import { failure } from '../../contracts/errors.ts';

/**
 * Why an activity was told to end. `requested`: the workflow asked. `held`: an operator paused or reset the activity in Temporal.
 * `moved`: this worker shuts down, or Temporal has given up on this attempt; another attempt will follow or already runs.
 */
export type Cancellation = 'requested' | 'held' | 'moved';

/**
 * Reads why an activity was cancelled; only a request of the workflow may end what a tool does.
 * A listener of the cancellation signal has to name the activity's context: it is not called within it.
 */
export function whyCancelled(context = Context.current()): Cancellation {
  const details = context.cancellationDetails;
  if (details?.cancelRequested && !details.workerShutdown && !details.timedOut) return 'requested';
  return details?.paused || details?.reset ? 'held' : 'moved';
}

/** What to throw so that Temporal comes back to the call later. */
export function comeBackLater(callId: string, cancellation: Exclude<Cancellation, 'requested'>, context = Context.current()): unknown {
  // The SDK reports a pause or a reset by an operator only for its own cancellation error.
  return cancellation === 'held' ? context.cancellationSignal.reason : failure('DETACHED', { execId: callId });
}
