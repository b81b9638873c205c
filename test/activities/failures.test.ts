import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { toTemporalFailure, translated } from '../../src/activities/failures.ts';
import { failure } from '../../src/contracts/errors.ts';

test('an error of the table keeps its code and values, and the table says whether Temporal may retry', () => {
  const lasting = toTemporalFailure(failure('TOOL_NOT_FOUND', { tool: 'x:y', known: 'none' }));
  expect(lasting).toBeInstanceOf(ApplicationFailure);
  expect(lasting).toMatchObject({ type: 'TOOL_NOT_FOUND', nonRetryable: true, details: [{ tool: 'x:y', known: 'none' }] });
  expect(toTemporalFailure(failure('SANDBOX_CONFLICT', { sandboxId: 'sbx_1' }))).toMatchObject({ type: 'SANDBOX_CONFLICT', nonRetryable: false });
});

test('a provider that says when to come back decides the delay of the retry', () => {
  const limited = failure('MODEL_RATE_LIMITED', { model: 'm', problem: 'slow down' });
  expect(toTemporalFailure(limited)).toMatchObject({ nextRetryDelay: undefined });
  const values = { ...limited.values, retryAfterMs: 1500 };
  expect(toTemporalFailure(Object.assign(limited, { values }))).toMatchObject({ type: 'MODEL_RATE_LIMITED', nonRetryable: false, nextRetryDelay: 1500 });
});

test("Temporal's own failures pass through as they are", () => {
  for (const own of [new CancelledFailure('over'), ApplicationFailure.nonRetryable('no', 'OTHER')]) expect(toTemporalFailure(own)).toBe(own);
});

test.each([
  [new Error('cannot reach postgres://me:hunter22@db/x'), 'Unexpected: cannot reach postgres://me:[redacted]@db/x'],
  ['a thrown text', 'Unexpected: a thrown text'],
])('an error that nobody foresaw is INTERNAL, may be retried, and carries no secret: %s', (error, message) => {
  expect(toTemporalFailure(error)).toMatchObject({ type: 'INTERNAL', nonRetryable: false, message });
});

test('a wrapped activity gives its result, and what it throws leaves translated', async () => {
  const activity = translated(async (text: string) => {
    if (text === 'bad') throw failure('SANDBOX_CONFLICT', { sandboxId: text });
    return text;
  });
  expect(await activity('good')).toBe('good');
  await expect(activity('bad')).rejects.toMatchObject({ type: 'SANDBOX_CONFLICT' });
});
