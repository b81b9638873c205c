import { details, proposed, running } from './calls.ts';
import { setUpCall, until } from './fakes.ts';
import { failure } from '../../src/contracts/errors.ts';

const BEGUN_BEFORE =
  'It is not known whether this call took effect: an earlier attempt at it was stored, and how far that came is not known: its worker died or was stopped, or the answer of Postgres to it was lost\nCheck the current state before you repeat it.';

describe('a host tool', () => {
  test('a second attempt of one that may not be repeated is unknown and runs nothing', async () => {
    let runs = 0;
    const call = await proposed(setUpCall({ isolation: 'host', execute: async () => `run ${(runs += 1)}` }));
    await call.store.toolCalls.claim('call_1', 'h1');
    expect(await call.worker().execute()).toMatchObject({ outcome: 'unknown', sandboxTier: 'none' });
    expect(runs).toBe(0);
    expect(call.typesOf()).toContain('tool.unknown');
    expect(call.resultText()).toBe(BEGUN_BEFORE);
  });

  test('one whose claim was stored, and the answer to it lost, is unknown too, and its result does not say that a worker had died', async () => {
    let runs = 0;
    const call = await proposed(setUpCall({ isolation: 'host', execute: async () => `run ${(runs += 1)}` }));
    call.faults.claimed.push(failure('POSTGRES_UNAVAILABLE', { problem: 'Connection terminated unexpectedly' }));
    expect(await call.worker().execute()).toMatchObject({ outcome: 'unknown' });
    expect({ runs, text: call.resultText() }).toEqual({ runs: 0, text: BEGUN_BEFORE });
  });

  test('one with few attempts waits for a database that is away for a moment, and runs; one in a sandbox is left to the next attempt', async () => {
    const away = () => failure('POSTGRES_UNAVAILABLE', { problem: 'restarting' });
    for (const annotations of [{}, { idempotentHint: true }, { readOnlyHint: true }]) {
      const few = await proposed(setUpCall({ isolation: 'host', annotations, execute: async () => 'fine' }));
      few.faults.claim.push(away(), away());
      expect(await few.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
      expect(few.resultText()).toContain('fine');
    }
    const many = await proposed(setUpCall({ isolation: 'container', execute: async () => 'fine' }));
    many.faults.claim.push(away());
    await expect(many.worker().execute()).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
    expect(many.typesOf()).toEqual([]);
  });

  test('the result of one that may not be repeated is stored when the database is back, however late; that of any other is left to the next attempt', async () => {
    const { jest } = import.meta;
    jest.useFakeTimers();
    try {
      const away = () => Array.from({ length: 40 }, () => failure('POSTGRES_UNAVAILABLE', { problem: 'restarting' }));
      const once = await proposed(setUpCall({ isolation: 'host', execute: async () => 'fine' }));
      once.faults.settle.push(...away());
      const executed = once.worker().execute();
      await jest.advanceTimersByTimeAsync(5 * 60_000);
      expect(await executed).toMatchObject({ outcome: 'finished', isError: false });
      expect(once.resultText()).toContain('fine');
      const again = await proposed(setUpCall({ isolation: 'host', annotations: { idempotentHint: true }, execute: async () => 'fine' }));
      again.faults.settle.push(...away());
      const left = expect(again.worker().execute()).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
      await jest.advanceTimersByTimeAsync(60_000);
      await left;
    } finally {
      jest.useRealTimers();
    }
  });

  test('an image of one that may not be repeated is left out when the blob store stays away for half a minute; that of any other is left to the next attempt', async () => {
    const { jest } = import.meta;
    jest.useFakeTimers();
    try {
      const image = { type: 'image', mediaType: 'image/png', data: Buffer.alloc(6_000).toString('base64') } as const;
      const kept = { type: 'image', mediaType: 'image/png', blob: 'b1', bytes: 6_000 };
      const callWith = async (failures: number, annotations = {}) => {
        const call = await proposed(setUpCall({ isolation: 'host', annotations, execute: async () => ({ content: [image] }) }));
        const away = Array.from({ length: failures }, () => failure('BLOB_FAILED', { blobId: 'b1', problem: 'connection refused' }));
        const keep = async () => {
          const error = away.pop();
          if (error) throw error;
          return kept;
        };
        Object.assign(call.store, { media: { keep } });
        return call;
      };
      const contentOf = async (call: Awaited<ReturnType<typeof callWith>>) => (await call.store.toolCalls.get('call_1'))?.content;
      const back = await callWith(3);
      const stored = back.worker().execute();
      await jest.advanceTimersByTimeAsync(60_000);
      expect([await stored, await contentOf(back)]).toMatchObject([{ outcome: 'finished', isError: false }, [kept]]);
      const gone = await callWith(40);
      const without = gone.worker().execute();
      await jest.advanceTimersByTimeAsync(60_000);
      const said = [{ type: 'text', text: '[image image/png] of 6000 bytes was left out: the blob store did not take it.' }];
      expect([await without, await contentOf(gone)]).toEqual([expect.objectContaining({ outcome: 'finished', isError: false }), said]);
      const again = await callWith(40, { idempotentHint: true });
      await expect(again.worker().execute()).rejects.toMatchObject({ code: 'BLOB_FAILED' });
      expect(again.typesOf()).not.toContain('tool.finished');
    } finally {
      jest.useRealTimers();
    }
  });

  test('a second attempt of one that only reads runs it again', async () => {
    const call = await proposed(setUpCall({ isolation: 'host', annotations: { readOnlyHint: true }, execute: async () => 'read' }));
    await call.store.toolCalls.claim('call_1', 'h1');
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
  });

  test('what it has asked the model is looked up where it, or an attempt before, may have asked something', async () => {
    const usage = { calls: 1, inputTokens: 2, outputTokens: 3, costUsd: null };
    const setUp = async () => {
      const call = await proposed(setUpCall({ isolation: 'host', annotations: { readOnlyHint: true }, execute: async () => 'read' }));
      let looks = 0;
      Object.assign(call.store, { usage: { under: async () => ((looks += 1), usage) } });
      return { call, looks: () => looks };
    };
    const first = await setUp();
    expect(await first.call.worker().execute({ modelLeft: {} })).not.toHaveProperty('asked');
    expect(first.looks()).toBe(0);
    // It has its result.
    expect(await first.call.worker().execute({ modelLeft: {} })).toMatchObject({ asked: { inputTokens: 2, outputTokens: 3, costUsd: null } });
    const second = await setUp();
    await second.call.store.toolCalls.claim('call_1', 'h1');
    expect(await second.call.worker().execute({ modelLeft: {} })).toMatchObject({ asked: { inputTokens: 2 } });
    expect(second.looks()).toBe(1);
  });

  test('its timeout aborts its signal and is an error result', async () => {
    let aborted = false;
    const call = await proposed(
      setUpCall({
        isolation: 'host',
        execute: (_input, { signal }) => new Promise(() => signal.addEventListener('abort', () => (aborted = true))),
      }),
    );
    expect(await call.worker().execute({ timeoutMs: 30 })).toMatchObject({ outcome: 'finished', isError: true });
    expect(aborted).toBe(true);
    expect(call.resultText()).toContain('longer than 30 ms');
  });

  test('a requested cancellation aborts its signal and settles it as interrupted', async () => {
    let waiting = false;
    const call = await proposed(
      setUpCall({
        isolation: 'host',
        execute: (_input, { signal }) =>
          new Promise((_, reject) => {
            waiting = true;
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      }),
    );
    const worker = call.worker();
    const attached = worker.execute();
    await until(() => waiting);
    worker.environment.cancel('CANCELLED', details({ cancelRequested: true }));
    expect(await attached).toMatchObject({ outcome: 'interrupted' });
    expect(call.calls.get('call_1')?.state).toBe('interrupted');
  });

  test('stopped with its worker, one that may not be repeated is unknown', async () => {
    let waiting = false;
    const call = await proposed(setUpCall({ isolation: 'host', execute: () => new Promise(() => (waiting = true)) }));
    const worker = call.worker();
    const attached = worker.execute();
    await until(() => waiting);
    worker.environment.cancel('WORKER_SHUTDOWN', details({ workerShutdown: true }));
    expect(await attached).toMatchObject({ outcome: 'unknown' });
  });

  test('what it throws is an error result without a stack and without secrets', async () => {
    const call = await proposed(setUpCall({ isolation: 'host', execute: async () => Promise.reject(new Error('no route to postgres://me:hunter22@db/x')) }));
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: true });
    expect(call.resultText()).toBe('test:tool failed: no route to postgres://me:[redacted]@db/x');
  });
});

/** A tool waits at the gate until the test says go. */
function createGate(): { gate: Promise<void>; go: () => void } {
  let go: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { gate, go: () => go() };
}

describe('an interruption', () => {
  const hang = () =>
    setUpCall({ execute: async (_input, { sandbox }) => `${(await sandbox.exec('hang')).status} ${(await sandbox.exec('hang more')).status}` });

  test('kills the running command; the attached executor stores it as interrupted with the output so far', async () => {
    const call = await proposed(hang());
    const worker = call.worker();
    const attached = worker.execute();
    await running(call);
    call.sandbox.write('call_1-1', 'half done');
    await call.worker().interrupt();
    expect(await attached).toEqual({ outcome: 'interrupted', sandboxTier: 'running' });
    expect(call.resultText()).toContain('half done');
    expect(call.sandbox.starts).not.toContain('hang more');
  });

  test('before the claim it settles the call, and an executor that comes later runs nothing', async () => {
    const call = await proposed(hang());
    await call.worker().interrupt();
    expect(call.opens).toEqual([]);
    expect(await call.worker().execute()).toMatchObject({ outcome: 'interrupted' });
    expect(call.sandbox.starts).toEqual([]);
  });

  test('between the claim and the first command it bars that command', async () => {
    const { gate, go } = createGate();
    const call = await proposed(
      setUpCall({
        async execute(_input, { sandbox }) {
          await sandbox.handle();
          await gate;
          return (await sandbox.exec('hang')).status;
        },
      }),
    );
    const attached = call.worker().execute();
    await until(() => call.opens.length === 1);
    await call.worker().interrupt();
    go();
    expect(await attached).toMatchObject({ outcome: 'interrupted' });
    expect(call.sandbox.starts).not.toContain('hang');
  });

  test('before there is a sandbox it leaves its word in the ledger, which the opener reads', async () => {
    const { gate, go } = createGate();
    const call = await proposed(
      setUpCall({
        async execute(_input, { sandbox }) {
          await gate;
          return (await sandbox.exec('hang')).status;
        },
      }),
    );
    const attached = call.worker().execute();
    await until(() => call.calls.get('call_1')?.state === 'running');
    await call.worker().interrupt();
    go();
    expect(await attached).toMatchObject({ outcome: 'interrupted' });
    expect(call.sandbox.starts).toEqual([]);
  });

  test('a call that has its result keeps it', async () => {
    const call = await proposed(setUpCall({ execute: async () => 'done' }));
    const worker = call.worker();
    await worker.execute();
    await worker.interrupt();
    expect(call.calls.get('call_1')?.state).toBe('finished');
  });
});

describe('any call', () => {
  test('the same id with another hash is refused, and what runs is left alone', async () => {
    const call = await proposed(setUpCall({ execute: async () => 'fine' }));
    expect(await call.worker().execute({ hash: 'other' })).toMatchObject({ outcome: 'finished', isError: true });
    expect(call.resultText()).toContain('was proposed with other arguments');
    call.calls.delete('call_1');
    await call.propose();
    await call.store.toolCalls.claim('call_1', 'h1');
    await expect(call.worker().execute({ hash: 'other' })).rejects.toMatchObject({ code: 'TOOL_CALL_MISMATCH' });
    expect(call.calls.get('call_1')?.state).toBe('running');
  });

  test('a call that the ledger does not know is refused', async () => {
    const call = setUpCall({ execute: async () => 'fine' });
    await expect(call.worker().execute()).rejects.toMatchObject({ code: 'TOOL_CALL_NOT_FOUND' });
  });

  test('a tool that this worker does not have is an error result', async () => {
    const call = await proposed(setUpCall({ execute: async () => 'fine' }));
    expect(await call.worker().execute({ tool: 'other:tool' })).toMatchObject({ outcome: 'finished', isError: true });
    expect(call.resultText()).toContain('Unknown tool "other:tool"');
  });

  test('a behavior says so to the workflow', async () => {
    const call = await proposed(setUpCall({ kind: 'behavior', execute: async () => 'noted' }));
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', kind: 'behavior' });
  });

  test('a long text is cut, and the whole is put into the sandbox', async () => {
    const whole = 'é'.repeat(40_000);
    const call = await proposed(
      setUpCall({
        async execute(_input, { sandbox }) {
          await sandbox.exec('echo x');
          return whole;
        },
      }),
    );
    await call.worker().execute();
    expect(Buffer.byteLength(call.resultText())).toBeLessThan(33_000);
    expect(call.resultText()).toContain('/home/user/.longshore-results/call_1.txt');
    expect(call.sandbox.files.get('/home/user/.longshore-results/call_1.txt')).toBe(whole);
  });
});
