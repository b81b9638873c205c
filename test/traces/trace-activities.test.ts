import { createLogger } from '../../src/platform/log.ts';
import type { CallModelResult } from '../../src/contracts/activities.ts';
import { traceActivities, type TracedActivities } from '../../src/traces/trace-activities.ts';
import type { EndedSpan } from '../../src/traces/tracing.ts';

const ARGS = { conversationId: 'conv_1', turnId: 'turn_1', stepId: 'step_1', tenantId: 'acme', agentId: 'helper' };

/** The names of the spans of a model call that ends so. */
async function spansOf(end: () => Promise<CallModelResult>): Promise<string[]> {
  const spans: EndedSpan[] = [];
  const parts = {
    tracing: { record: (span: EndedSpan) => void spans.push(span) },
    agents: new Map([['helper', { model: 'scripted/one', modelOptions: {} }]]),
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
  };
  const info = { activityType: 'callModel', activityId: '1', attempt: 1 };
  const { inbound } = traceActivities(parts as unknown as TracedActivities)({ info } as Parameters<ReturnType<typeof traceActivities>>[0]);
  await inbound?.execute?.({ args: [ARGS], headers: {} }, end).catch(() => undefined);
  return spans.map(({ name, errorType }) => (errorType === undefined ? name : `${name}: ${errorType}`));
}

const NOT_CALLED: CallModelResult[] = [
  { outcome: 'exhausted', storedBytes: 1 },
  { outcome: 'spent' },
  { outcome: 'unaffordable', needs: 1 },
  { outcome: 'compact', reason: 'full' },
  { outcome: 'unaccepted' },
  { outcome: 'waits' },
  { outcome: 'waits', waits: { limit: 'installation', running: 1, allowed: 1 } },
];

test.each(NOT_CALLED)('a step that ends without a call of the model is no call of it: %j', async (result) => {
  expect(await spansOf(async () => result)).toEqual([]);
});

test('a call that is answered, fails, is refused as too long or has no end that is known is one', async () => {
  const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 };
  expect(await spansOf(async () => ({ outcome: 'answered', calls: [], spoke: true, usage }))).toEqual(['chat one']);
  expect(await spansOf(async () => ({ outcome: 'failed', code: 'MODEL_FAILED', message: '' }))).toEqual(['chat one: MODEL_FAILED']);
  expect(await spansOf(async () => ({ outcome: 'compact', reason: 'too-long' }))).toEqual(['chat one']);
  expect(await spansOf(() => Promise.reject(new TypeError('away')))).toEqual(['chat one: TypeError']);
});

test('activities of two runs of a turn have spans of their own, though Temporal numbers them alike, and a span that is recorded again has the same id', async () => {
  const spans: EndedSpan[] = [];
  const parts = {
    tracing: { record: (span: EndedSpan) => void spans.push(span) },
    agents: new Map([['helper', { model: 'scripted/one', modelOptions: {} }]]),
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
  };
  for (const runId of ['run-1', 'run-2', 'run-2']) {
    const info = { activityType: 'files:read', activityId: '7', attempt: 1, workflowExecution: { workflowId: 'conv_1', runId } };
    const { inbound } = traceActivities(parts as unknown as TracedActivities)({ info } as Parameters<ReturnType<typeof traceActivities>>[0]);
    await inbound?.execute?.({ args: [{ ...ARGS, callId: 'call_1', tool: 'files:read' }], headers: {} }, async () => ({ outcome: 'suspended' }));
  }
  const [first, second, again] = spans.map(({ spanId }) => spanId);
  expect(first).not.toBe(second);
  expect(again).toBe(second);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});
