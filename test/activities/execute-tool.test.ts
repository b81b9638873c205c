import { ActivityCancellationDetails } from '@temporalio/common';
import { failure } from '../../src/contracts/errors.ts';
import { hashCall } from '../../src/plugins/hash-call.ts';
import { NO_SERVICES, setUpCall, until } from './fakes.ts';

const details = (more: Partial<Record<'cancelRequested' | 'workerShutdown' | 'paused', boolean>>) =>
  new ActivityCancellationDetails({
    notFound: false,
    cancelRequested: false,
    paused: false,
    timedOut: false,
    workerShutdown: false,
    reset: false,
    ...more,
  });
async function proposed(call: ReturnType<typeof setUpCall>): Promise<ReturnType<typeof setUpCall>> {
  await call.propose();
  return call;
}
const running = (call: ReturnType<typeof setUpCall>, execId = 'call_1-1') => until(() => call.sandbox.execs.get(execId)?.info.state === 'running', execId);
/** A worker has begun the call, and is heard of no more. */
async function abandoned(call: ReturnType<typeof setUpCall>): Promise<void> {
  const attempt = call.worker().execute();
  attempt.catch(() => undefined);
  await running(call);
}

describe('a container tool', () => {
  const hang = () => setUpCall({ execute: async (_input, { sandbox }) => ({ exitCode: (await sandbox.exec('hang')).exitCode ?? null }) });

  test('its result goes to ledger, transcript and events in one settle', async () => {
    const call = await proposed(setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec('echo hello')).stdout.text }));
    expect(await call.worker().execute()).toEqual({ outcome: 'finished', isError: false, sandboxTier: 'running' });
    expect(call.calls.get('call_1')).toMatchObject({ state: 'finished', content: [{ type: 'text', text: 'hello' }] });
    expect(call.resultText()).toBe('hello');
    expect(call.typesOf()).toEqual(['tool.started', 'tool.output', 'tool.finished']);
    expect(call.events[1]?.data).toEqual({ callId: 'call_1', stream: 'stdout', offset: 0, bytes: 5, text: 'hello' });
  });

  test('an approval is one of the tool as it was then: one that has changed since is not run, unless it needs none', async () => {
    const setUp = (decide: 'ask' | 'allow') =>
      proposed(setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec('echo hello')).stdout.text }, NO_SERVICES, [{ tool: '*', decide }]));
    const asked = await setUp('ask');
    expect(await asked.worker().execute()).toMatchObject({ outcome: 'finished', isError: true });
    expect(asked.resultText()).toBe(
      '"test:tool" has become another since this call was asked for, so that its approval does not count; it was not run. Call it again as it is now.',
    );
    expect(asked.sandbox.starts).toEqual([]);
    const allowed = await setUp('allow');
    await allowed.worker().execute();
    expect(allowed.resultText()).toBe('hello');
    // As it was when it was asked for.
    const hash = hashCall({ id: 'test:tool', pluginVersion: '1.0.0' }, {});
    const same = await setUp('ask');
    same.calls.get('call_1')!.hash = hash;
    await same.worker().execute({ hash });
    expect(same.resultText()).toBe('hello');
  });

  test('a call that has its result gives it again and runs nothing', async () => {
    const call = await proposed(setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec('echo hello')).stdout.text }));
    const first = await call.worker().execute();
    expect(await call.worker().execute()).toEqual(first);
    expect(call.sandbox.starts).toEqual(['echo hello']);
  });

  test('after the death of a worker the next attempt attaches to the running command', async () => {
    const call = await proposed(hang());
    await abandoned(call);
    const second = call.worker().execute();
    await until(() => call.calls.get('call_1')?.fence === 2);
    call.sandbox.end('call_1-1', { exitCode: 7 });
    expect(await second).toMatchObject({ outcome: 'finished' });
    expect(call.sandbox.starts).toEqual(['hang']);
    expect(call.resultText()).toBe('{"exitCode":7}');
  });

  test('two workers that race for one call start its command once and store one result', async () => {
    const call = await proposed(hang());
    const both = Promise.allSettled([call.worker().execute(), call.worker().execute()]);
    await running(call);
    call.sandbox.end('call_1-1');
    const [first, second] = await both;
    expect(call.sandbox.starts).toEqual(['hang']);
    expect(call.typesOf().filter((type) => type === 'tool.finished')).toHaveLength(1);
    expect([first?.status, second?.status]).toContain('fulfilled');
  });

  test('a requested cancellation lets go of the command and says detached; a later attach gets its result', async () => {
    const call = await proposed(hang());
    const worker = call.worker();
    const attached = worker.execute();
    await running(call);
    worker.environment.cancel('CANCELLED', details({ cancelRequested: true }));
    expect(await attached).toEqual({ outcome: 'detached', sandboxTier: 'running' });
    expect(call.sandbox.execs.get('call_1-1')?.info.state).toBe('running');
    const again = call.worker().execute();
    call.sandbox.end('call_1-1');
    expect(await again).toMatchObject({ outcome: 'finished' });
    expect(call.sandbox.starts).toEqual(['hang']);
  });

  test('a stopping worker lets go of the command and fails the attempt so that Temporal retries', async () => {
    const call = await proposed(hang());
    const worker = call.worker();
    const attached = worker.execute();
    await running(call);
    worker.environment.cancel('WORKER_SHUTDOWN', details({ workerShutdown: true }));
    await expect(attached).rejects.toMatchObject({ code: 'DETACHED', retryable: true });
    expect(call.sandbox.execs.get('call_1-1')?.info.state).toBe('running');
    expect(call.calls.get('call_1')?.state).toBe('running');
  });

  test("an operator's pause of the activity fails it with the SDK's own cancellation", async () => {
    const call = await proposed(hang());
    const worker = call.worker();
    const attached = worker.execute();
    await running(call);
    worker.environment.cancel('PAUSED', details({ paused: true }));
    await expect(attached).rejects.toMatchObject({ name: 'CancelledFailure' });
  });

  test('the container died under a command: unknown, with the command named, and nothing is run again', async () => {
    const call = await proposed(hang());
    const attached = call.worker().execute();
    await running(call);
    call.sandbox.die();
    expect(await attached).toMatchObject({ outcome: 'unknown', why: expect.stringContaining('hang') as string });
    expect(call.sandbox.starts.filter((command) => command === 'hang')).toHaveLength(1);
    expect(call.calls.get('call_1')?.state).toBe('unknown');
    expect(call.typesOf()).toContain('tool.unknown');
  });

  test('container and worker died under a command: the next attempt says unknown', async () => {
    const call = await proposed(hang());
    const first = call.worker();
    const gone = first.execute();
    await running(call);
    first.environment.cancel('WORKER_SHUTDOWN', details({ workerShutdown: true }));
    await expect(gone).rejects.toThrow();
    call.sandbox.die();
    expect(await call.worker().execute()).toMatchObject({ outcome: 'unknown' });
    expect(call.sandbox.starts.filter((command) => command === 'hang')).toHaveLength(1);
  });

  test('container and files are gone under a command: unknown, and nothing is run again', async () => {
    const call = await proposed(hang());
    const attached = call.worker().execute();
    await running(call);
    call.sandbox.die();
    call.sandbox.empty();
    expect(await attached).toMatchObject({ outcome: 'unknown', why: expect.stringContaining('files are gone') as string });
    expect(call.sandbox.starts).toEqual(['hang']);
  });

  test('container, files and worker are gone under a command: every further attempt says unknown, whoever rebuilt the sandbox', async () => {
    const call = await proposed(hang());
    const first = call.worker();
    const gone = first.execute();
    await running(call);
    first.environment.cancel('WORKER_SHUTDOWN', details({ workerShutdown: true }));
    await expect(gone).rejects.toThrow();
    call.sandbox.die();
    call.sandbox.empty();
    call.sandbox.revive();
    call.filesLost();
    expect(await call.worker().execute()).toMatchObject({ outcome: 'unknown', why: expect.stringContaining('files are gone') as string });
    expect(call.sandbox.starts).toEqual(['hang']);
  });

  test('a call whose first attempt found its sandbox without files and started there is attached to', async () => {
    const call = await proposed(hang());
    call.sandbox.die();
    call.sandbox.empty();
    const first = call.worker();
    const gone = first.execute();
    await running(call);
    first.environment.cancel('WORKER_SHUTDOWN', details({ workerShutdown: true }));
    await expect(gone).rejects.toThrow();
    const again = call.worker().execute();
    call.sandbox.end('call_1-1');
    expect(await again).toMatchObject({ outcome: 'finished', isError: false });
    expect(call.sandbox.starts).toEqual(['hang']);
  });

  test('the first attempt at a call runs it in a sandbox that was rebuilt without its files', async () => {
    const call = await proposed(setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec('echo hello')).stdout.text }));
    call.sandbox.die();
    call.sandbox.empty();
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
    expect(call.sandbox.starts).toEqual(['echo hello']);
  });

  test('the container died before the command was started: it is run in the rebuilt one', async () => {
    const call = await proposed(setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec('echo hello')).stdout.text }));
    const worker = call.worker();
    await worker.execute();
    call.calls.delete('call_1');
    await call.propose();
    call.sandbox.execs.clear();
    call.sandbox.die();
    expect(await worker.execute()).toMatchObject({ outcome: 'finished', isError: false });
    expect(call.sandbox.starts).toEqual(['echo hello', 'echo hello']);
  });

  test('a tool that catches the loss of its sandbox does not hide it', async () => {
    const call = await proposed(
      setUpCall({
        execute: async (_input, { sandbox }) =>
          sandbox
            .exec('hang')
            .then(() => 'fine')
            .catch(() => 'all is well'),
      }),
    );
    const attached = call.worker().execute();
    await running(call);
    call.sandbox.die();
    expect(await attached).toMatchObject({ outcome: 'unknown' });
  });

  test('a sandbox out of reach fails the attempt for a later one', async () => {
    const call = await proposed(setUpCall({ execute: async () => Promise.reject(failure('SANDBOX_UNREACHABLE', { sandboxId: 'sbx_1', problem: 'silence' })) }));
    await expect(call.worker().execute()).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE' });
    expect(call.calls.get('call_1')?.state).toBe('running');
  });

  test('the n-th command has the same id at every attempt, also when the tool does not repeat itself word for word', async () => {
    let attempts = 0;
    const call = await proposed(setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec(`hang ${(attempts += 1)}`)).stdout.text }));
    await abandoned(call);
    const second = call.worker().execute();
    await until(() => attempts === 2);
    call.sandbox.write('call_1-1', 'from the first');
    call.sandbox.end('call_1-1');
    expect(await second).toMatchObject({ outcome: 'finished' });
    expect(call.resultText()).toBe('from the first');
    expect(call.sandbox.starts).toEqual(['hang 1']);
  });

  test('output that a dead worker had told is not told again', async () => {
    const call = await proposed(hang());
    await abandoned(call);
    call.sandbox.write('call_1-1', 'first ');
    await until(() => call.typesOf().includes('tool.output'));
    const attached = call.worker().execute();
    await until(() => call.calls.get('call_1')?.fence === 2);
    await until(() => call.sandbox.execs.get('call_1-1')!.followers.size === 2);
    call.sandbox.write('call_1-1', 'second');
    call.sandbox.end('call_1-1');
    await attached;
    const ofSecond = call.events.filter(({ type, data }) => type === 'tool.output' && data['offset'] !== 0);
    expect(ofSecond.map(({ data }) => data['text'])).toContain('second');
    expect(call.events.filter(({ type, data }) => type === 'tool.output' && data['offset'] === 0)).toHaveLength(1);
  });

  test('output that came while nobody was attached is told by the next attempt', async () => {
    const call = await proposed(hang());
    const first = call.worker();
    const detached = first.execute();
    await running(call);
    call.sandbox.write('call_1-1', 'told, ');
    await until(() => call.typesOf().includes('tool.output'));
    first.environment.cancel('CANCELLED', details({ cancelRequested: true }));
    await detached;
    call.sandbox.write('call_1-1', 'then untold, ');
    const attached = call.worker().execute();
    await until(() => call.sandbox.execs.get('call_1-1')!.followers.size === 1);
    call.sandbox.write('call_1-1', 'then more');
    call.sandbox.end('call_1-1');
    await attached;
    const output = call.events.flatMap(({ type, data }) => (type === 'tool.output' ? [data] : []));
    expect(output.map(({ text }) => text).join('')).toBe('told, then untold, then more');
    expect(output[1]).toMatchObject({ offset: 6 });
  });

  test('a tool that does nothing for its timeout is given up with an error result', async () => {
    const call = await proposed(setUpCall({ execute: () => new Promise(() => undefined) }));
    expect(await call.worker().execute({ timeoutMs: 40 })).toMatchObject({ outcome: 'finished', isError: true });
    expect(call.resultText()).toContain('40 ms');
  });

  test('a database that is away for a moment does not cost the result', async () => {
    const call = await proposed(setUpCall({ execute: async () => 'fine' }));
    call.faults.settle.push(failure('POSTGRES_UNAVAILABLE', { problem: 'restarting' }));
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
  });
});

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
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
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
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
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

describe('a host tool', () => {
  test('a second attempt of one that may not be repeated is unknown and runs nothing', async () => {
    let runs = 0;
    const call = await proposed(setUpCall({ isolation: 'host', execute: async () => `run ${(runs += 1)}` }));
    await call.store.toolCalls.claim('call_1', 'h1');
    expect(await call.worker().execute()).toMatchObject({ outcome: 'unknown', sandboxTier: 'none' });
    expect(runs).toBe(0);
    expect(call.typesOf()).toContain('tool.unknown');
  });

  test('a second attempt of one that only reads runs it again', async () => {
    const call = await proposed(setUpCall({ isolation: 'host', annotations: { readOnlyHint: true }, execute: async () => 'read' }));
    await call.store.toolCalls.claim('call_1', 'h1');
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
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
