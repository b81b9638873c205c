import { compileWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import { DefaultLogger } from '@temporalio/worker';
import { noopMetricMeter } from '@temporalio/common';
import { PATIENT } from '../../src/worker/create-worker.ts';

test("the library takes the time that a workflow's code has, which its types do not list", () => {
  const options = { taskQueue: 'test', ...PATIENT };
  expect(compileWorkerOptions(options, new DefaultLogger(), noopMetricMeter).isolateExecutionTimeoutMs).toBe(60_000);
});
