import { ActivityCancellationDetails } from '@temporalio/common';
import { setUpCall, until } from './fakes.ts';

type Call = ReturnType<typeof setUpCall>;

/** As the SDK tells an activity why it is cancelled. */
export const details = (more: Partial<Record<'cancelRequested' | 'workerShutdown' | 'paused', boolean>>) =>
  new ActivityCancellationDetails({
    notFound: false,
    cancelRequested: false,
    paused: false,
    timedOut: false,
    workerShutdown: false,
    reset: false,
    ...more,
  });

export async function proposed(call: Call): Promise<Call> {
  await call.propose();
  return call;
}

export const running = (call: Call, execId = 'call_1-1') => until(() => call.sandbox.execs.get(execId)?.info.state === 'running', execId);

/** A worker has begun the call, and is heard of no more. */
export async function abandoned(call: Call): Promise<void> {
  const attempt = call.worker().execute();
  attempt.catch(() => undefined);
  await running(call);
}

/** A worker has begun the call, and was told to stop. */
export async function stopped(call: Call): Promise<void> {
  const worker = call.worker();
  const attempt = worker.execute();
  await running(call);
  worker.environment.cancel('WORKER_SHUTDOWN', details({ workerShutdown: true }));
  await expect(attempt).rejects.toThrow();
}
