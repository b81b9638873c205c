import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { deferred } from '../../../src/common/deferred.ts';
import type { ToolContext } from '../../../src/plugins/api/tool-context.ts';
import { createLogLimits } from '../../../src/tool-calls/log-limits.ts';
import { runHostTool } from '../../../src/tool-calls/run/run-host-tool.ts';
import type { ToolRun } from '../../../src/tool-calls/run/tool-run.ts';
import { details } from '../../activities/calls.ts';
import { createFakeStore, NO_SERVICES } from '../../activities/fakes.ts';

const ARGS = { conversationId: 'conv_1', turnId: 'turn_1', callId: 'call_1-1m1', tool: 'test:look', timeoutMs: 60_000 };

/** A call of code whose tool waits until it is told to stop. */
function runNested(outer: AbortSignal) {
  const environment = new MockActivityEnvironment();
  const began = deferred<void>();
  const stopped = deferred<unknown>();
  const execute = (_given: unknown, { signal }: ToolContext) => {
    signal.addEventListener('abort', () => stopped.resolve(signal.reason));
    began.resolve();
    return stopped.promise;
  };
  const tool = { pluginId: 'test', permissions: {}, environment: [], annotations: { readOnlyHint: true }, isolation: 'host', execute };
  const run = {
    args: ARGS,
    claim: { attempt: 1, call: { arguments: {} } },
    tool,
    outer,
    services: NO_SERVICES,
    log: pino({ level: 'silent' }),
    logLimits: createLogLimits(pino({ level: 'silent' })),
    store: createFakeStore().store,
    progress: { phase: () => undefined },
  } as unknown as ToolRun;
  return { environment, began: began.promise, stopped: stopped.promise, outcome: environment.run(() => runHostTool(run)) };
}

test('a call of code goes on when its activity is cancelled for a pause, until the attempt of the code has ended; it is then left to the next one', async () => {
  const attempt = new AbortController();
  const { environment, began, stopped, outcome } = runNested(attempt.signal);
  await began;
  environment.cancel('CANCELLED', details({ cancelRequested: true }));
  attempt.abort(new Error('the attempt has ended'));
  expect(await outcome).toMatchObject({ outcome: 'later', error: { code: 'DETACHED' } });
  expect(await stopped).toMatchObject({ code: 'DETACHED' });
});

test('a call of code whose attempt has ended before it begins is left to the next one', async () => {
  expect(await runNested(AbortSignal.abort()).outcome).toMatchObject({ outcome: 'later', error: { code: 'DETACHED' } });
});
