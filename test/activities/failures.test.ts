import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { growingPause, toTemporalFailure, translated, unlessCutOff } from '../../src/activities/failures.ts';
import { failure } from '../../src/contracts/errors.ts';

const CUT_OFF = 'Host "first" does not reach Postgres, and other hosts may have taken over what it had';

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

test('a provider that asks for short pauses again and again does not use up all attempts within seconds', () => {
  const limited = (retryAfterMs: number) => Object.assign(failure('MODEL_RATE_LIMITED', { model: 'm', problem: 'slow down' }), { values: { retryAfterMs } });
  expect(toTemporalFailure(limited(0), 32_000)).toMatchObject({ nextRetryDelay: 32_000 });
  expect(toTemporalFailure(limited(60_000), 500)).toMatchObject({ nextRetryDelay: 60_000 });
});

test.each([
  [1, 200],
  [2, 400],
  [5, 3200],
  [6, 5000],
  [5000, 5000],
])('what fails in attempt %d is tried again after %d ms; a worker that ends has not failed', async (attempt, pauseMs) => {
  const retryOf = (error: Error) => {
    const failing = async () => {
      throw error;
    };
    return new MockActivityEnvironment({ attempt }).run(translated(failing, growingPause));
  };
  await expect(retryOf(failure('DOCKER_UNAVAILABLE', { problem: 'refused' }))).rejects.toMatchObject({ nextRetryDelay: pauseMs });
  await expect(retryOf(failure('DETACHED', { execId: 'call_1' }))).rejects.toMatchObject({ type: 'DETACHED', nextRetryDelay: undefined });
});

test.each([
  ['what it cannot do for want of Postgres', true, 'POSTGRES_UNAVAILABLE', 'HostCutOff'],
  ['what fails for another reason that may pass', true, 'DOCKER_UNAVAILABLE', 'HostCutOff'],
  ['not what would fail anywhere', true, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
  ['nothing as long as the host cannot be given up', false, 'POSTGRES_UNAVAILABLE', 'POSTGRES_UNAVAILABLE'],
] as const)('a host that is cut off from Postgres leaves to any worker %s', async (_what, mayBeGivenUp, code, type) => {
  const failing = async () => {
    throw failure(code, { problem: 'refused', what: 'it', fix: 'Change it' });
  };
  const { callModel } = unlessCutOff({ callModel: translated(failing) }, { hostId: 'first', mayBeGivenUp: () => mayBeGivenUp });
  const isCutOff = type === 'HostCutOff';
  await expect(new MockActivityEnvironment().run(callModel!)).rejects.toMatchObject({
    type,
    ...(isCutOff && { nonRetryable: true, message: CUT_OFF }),
  });
});

test('a host that is cut off from Postgres leaves a model call to any worker that could not ask for its place', async () => {
  const waits = async () => ({ outcome: 'waits' });
  const run = (mayBeGivenUp: boolean) =>
    new MockActivityEnvironment().run(unlessCutOff({ waits }, { hostId: 'first', mayBeGivenUp: () => mayBeGivenUp }).waits!);
  expect(await run(false)).toEqual({ outcome: 'waits' });
  await expect(run(true)).rejects.toMatchObject({ type: 'HostCutOff', nonRetryable: true, message: CUT_OFF });
});

test("Temporal's own failures pass through as they are", () => {
  for (const own of [new CancelledFailure('over'), ApplicationFailure.nonRetryable('no', 'OTHER')]) expect(toTemporalFailure(own)).toBe(own);
});

test.each([
  [new Error('cannot reach postgres://me:hunter22@db/x'), 'Unexpected: cannot reach postgres://me:[redacted]@db/x'],
  ['a thrown text', 'Unexpected: a thrown text'],
])('an unexpected error is INTERNAL, may be retried, and carries no secret: %s', (error, message) => {
  expect(toTemporalFailure(error)).toMatchObject({ type: 'INTERNAL', nonRetryable: false, message });
});

test('what led to an error is kept, in bounds and without credentials', () => {
  const refused = new Error('connect ECONNREFUSED postgres://me:hunter22@db/x', { cause: new AggregateError([new Error('first address')], '') });
  const told = toTemporalFailure(failure('POSTGRES_UNAVAILABLE', { problem: 'refused' }, refused)) as ApplicationFailure;
  expect(told).toMatchObject({ type: 'POSTGRES_UNAVAILABLE', message: expect.stringContaining('refused') as string });
  expect(told.cause).toMatchObject({ type: 'Error', message: 'connect ECONNREFUSED postgres://me:[redacted]@db/x' });
  expect(told.cause?.stack).toContain('failures.test.ts');
  expect(told.cause?.stack).not.toContain('hunter22');
  expect(told.cause?.cause).toMatchObject({ type: 'AggregateError', cause: { message: 'first address' } });

  const unforeseen = toTemporalFailure(new TypeError('x is not a function')) as ApplicationFailure;
  expect(unforeseen.cause).toMatchObject({ type: 'TypeError', message: 'x is not a function' });
});

test('whatever is thrown, the failure has a bounded size', () => {
  const endless = new Error('round');
  endless.cause = endless;
  let deep: unknown = 'the end';
  for (let depth = 0; depth < 10_000; depth += 1) deep = new Error(`level ${depth} ${'x'.repeat(100)}`, { cause: deep });
  const hostile = Object.defineProperty(new Error('x'), 'message', {
    get: () => {
      throw new Error('no');
    },
  });
  const thrown = [
    endless,
    deep,
    new Error('password=hunter22 '.repeat(1_000_000)),
    'x'.repeat(50_000_000),
    Object.create(null),
    Symbol('s'),
    null,
    undefined,
    7n,
    hostile,
  ];
  for (const error of thrown) {
    const told = toTemporalFailure(error) as ApplicationFailure;
    expect(told.type).toBe('INTERNAL');
    const parts: string[] = [];
    for (let at: Error | undefined = told; at; at = (at as ApplicationFailure).cause) parts.push(at.message, at === told ? '' : (at.stack ?? ''));
    expect(parts.join('').length).toBeLessThan(20_000);
    expect(parts.join('')).not.toContain('hunter22');
  }
});

test('a wrapped activity gives its result, and what it throws leaves translated', async () => {
  const activity = translated(async (text: string) => {
    if (text === 'bad') throw failure('SANDBOX_CONFLICT', { sandboxId: text });
    return text;
  });
  expect(await activity('good')).toBe('good');
  await expect(activity('bad')).rejects.toMatchObject({ type: 'SANDBOX_CONFLICT' });
});
