import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, CompleteAsyncError, TemporalFailure } from '@temporalio/common';
import { ERRORS } from '../contracts/error-table/error-rows.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { HOST_CUT_OFF, SANDBOX_ELSEWHERE } from '../contracts/hosts/elsewhere.ts';
import { elsewhereOf } from '../sandbox/api/elsewhere.ts';
import type { Sandboxes } from '../sandbox/api/host-sandboxes.ts';
import { isObject } from '../contracts/json.ts';
import { operatorText, operatorValues } from '../contracts/operator-text.ts';
import { causeOf } from './cause-of.ts';
import { redact } from '../tool-calls/results/redact.ts';
import { whyCancelled } from '../tool-calls/run/cancellation.ts';

type Activity<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Wraps an activity so that every error it throws is translated once into Temporal's own failure: `type` is the error code, `details` its values,
 * and the error table decides whether Temporal may retry.
 * @param pauseAfter delay of the next attempt; where it gives none, the activity's policy decides
 */
export function translated<Args extends unknown[], Result>(
  activity: Activity<Args, Result>,
  pauseAfter: (error: unknown) => number | undefined = () => undefined,
): Activity<Args, Result> {
  return async (...args) => {
    try {
      return await activity(...args);
    } catch (error) {
      throw toTemporalFailure(error, pauseAfter(error));
    }
  };
}

type Activities = Record<string, (...args: never[]) => Promise<unknown>>;

/**
 * Wraps activities that were sent to this host, once they are translated. Where it has not reached Postgres for so long that other hosts may take its sandboxes over,
 * what it cannot do is left to any worker.
 */
export function unlessCutOff(activities: Activities, { hostId = '', mayBeGivenUp = () => false }: Pick<Sandboxes, 'hostId' | 'mayBeGivenUp'>): Activities {
  const cutOff = (cause?: unknown) => {
    const message = `Host "${hostId}" does not reach Postgres, and other hosts may have taken over what it had`;
    return ApplicationFailure.create({ message, type: HOST_CUT_OFF, nonRetryable: true, ...(cause instanceof Error && { cause }) });
  };
  const wrapped = (activity: Activities[string]) =>
    (async (...args: never[]) => {
      let result: unknown;
      try {
        result = await activity(...args);
      } catch (error) {
        throw error instanceof ApplicationFailure && error.nonRetryable !== true && mayBeGivenUp() ? cutOff(error) : error;
      }
      if (couldNotAsk(result) && mayBeGivenUp()) throw cutOff();
      return result;
    }) as Activities[string];
  return Object.fromEntries(Object.entries(activities).map(([name, activity]) => [name, wrapped(activity)]));
}

/** A model call that could not ask for the place of its turn. The workflow would ask for it elsewhere, and then come back. */
function couldNotAsk(result: unknown): boolean {
  return isObject(result) && result['outcome'] === 'waits' && result['waits'] === undefined;
}

/** What failed is tried again after growing pauses. A worker that ends has not failed: the next one goes on at once. */
export function growingPause(error: unknown): number | undefined {
  if (isFailure(error) && error.code === 'DETACHED') return undefined;
  return Math.min(FIRST_PAUSE_MS * 2 ** (Context.current().info.attempt - 1), LONGEST_PAUSE_MS);
}

/**
 * Translates an error for Temporal, with its causes. Temporal's own errors pass unchanged; unknown errors become `INTERNAL` and may be retried.
 * @param pauseMs delay of the next attempt when the error itself has none; without both, the activity's policy decides
 */
export function toTemporalFailure(error: unknown, pauseMs?: number): unknown {
  if (error instanceof TemporalFailure || error instanceof CancelledFailure || error instanceof CompleteAsyncError) return error;
  if (!isFailure(error)) {
    const cause = causeOf(error);
    const problem = cause?.message ?? String(error);
    return ApplicationFailure.create({
      message: `Unexpected: ${problem}`,
      type: 'INTERNAL',
      details: [{ problem }],
      ...because(cause),
      ...afterPause(pauseMs),
    });
  }
  const elsewhere = elsewhereOf(error);
  // Nothing has begun here; the workflow repeats it there.
  if (elsewhere) return ApplicationFailure.create({ message: error.message, type: SANDBOX_ELSEWHERE, nonRetryable: true, details: [elsewhere] });
  const told = error.values['retryAfterMs'];
  return ApplicationFailure.create({
    message: operatorText(error.message, undefined, redact),
    type: error.code,
    nonRetryable: !ERRORS[error.code].retryable,
    details: [operatorValues(error.values, redact)],
    ...because(causeOf(error.cause)),
    ...afterPause(typeof told === 'number' ? Math.max(told, leastPause(error.code, pauseMs)) : pauseMs),
  });
}

/** The pauses before model calls grow also where the provider asks for short ones: it would refuse all attempts within seconds. */
function leastPause(code: string, pauseMs = 0): number {
  return code === 'MODEL_RATE_LIMITED' ? pauseMs : 0;
}

function because(cause: ApplicationFailure | undefined) {
  return cause && { cause };
}

function afterPause(milliseconds: number | undefined) {
  return milliseconds === undefined ? {} : { nextRetryDelay: milliseconds };
}

/** Only the workflow's request ends a model call for good; when a worker shuts down, another one retries the call. */
export function classifyAbort(error: unknown): unknown {
  const abandoned = Context.current().cancellationSignal.aborted && !isFailure(error) && whyCancelled() === 'moved';
  return abandoned ? failure('INTERNAL', { problem: 'the worker stopped during a model call' }, error) : error;
}
