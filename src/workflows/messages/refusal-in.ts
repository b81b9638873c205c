import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';

/** The caller of an update learns the code and the values of an error only from a failure of its own. */
export function refusalIn(error: unknown): unknown {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(cause.message, cause.type, ...(cause.details ?? []));
}
