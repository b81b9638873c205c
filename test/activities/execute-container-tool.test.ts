import { failure } from '../../src/contracts/errors.ts';
import { abandoned, details, proposed, running, stopped } from './calls.ts';
import { setUpCall, until } from './fakes.ts';

describe('a container tool', () => {
  const hang = () => setUpCall({ execute: async (_input, { sandbox }) => ({ exitCode: (await sandbox.exec('hang')).exitCode ?? null }) });
  const greet = () => setUpCall({ execute: async (_input, { sandbox }) => (await sandbox.exec('echo hello')).stdout.text });

  test('its result goes to ledger, transcript and events in one settle', async () => {
    const call = await proposed(greet());
    expect(await call.worker().execute()).toEqual({ outcome: 'finished', isError: false, sandboxTier: 'running' });
    expect(call.calls.get('call_1')).toMatchObject({ state: 'finished', content: [{ type: 'text', text: 'hello' }] });
    expect(call.resultText()).toBe('hello');
    expect(call.typesOf()).toEqual(['tool.started', 'tool.output', 'tool.finished']);
    expect(call.events[1]?.data).toEqual({ callId: 'call_1', stream: 'stdout', offset: 0, bytes: 5, text: 'hello' });
  });

  test('a call that has its result gives it again and runs nothing', async () => {
    const call = await proposed(greet());
    const first = await call.worker().execute();
    expect(await call.worker().execute()).toEqual(first);
    expect(call.sandbox.starts).toEqual(['echo hello']);
  });

  test('a result of which the sandbox does not have the files any more is not stored; the next attempt finds out what is known', async () => {
    const call = await proposed(greet());
    call.faults.settle.push('superseded');
    await expect(call.worker().execute()).rejects.toMatchObject({ code: 'SANDBOX_SUPERSEDED', retryable: true });
    expect(call.calls.get('call_1')).toMatchObject({ state: 'running', fence: 1 });
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
    expect(call.sandbox.starts).toEqual(['echo hello']);
    expect(call.resultText()).toBe('hello');
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

  test('a requested cancellation detaches from the command and says so; a later attach gets its result', async () => {
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

  test('a stopping worker detaches from the command and fails the attempt so that Temporal retries', async () => {
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
    await stopped(call);
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

  test('container, files and worker are gone under a command: every further attempt says unknown, also when another worker rebuilt the sandbox', async () => {
    const call = await proposed(hang());
    await stopped(call);
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
    await stopped(call);
    const again = call.worker().execute();
    call.sandbox.end('call_1-1');
    expect(await again).toMatchObject({ outcome: 'finished', isError: false });
    expect(call.sandbox.starts).toEqual(['hang']);
  });

  test('the first attempt at a call runs it in a sandbox that was rebuilt without its files', async () => {
    const call = await proposed(greet());
    call.sandbox.die();
    call.sandbox.empty();
    expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
    expect(call.sandbox.starts).toEqual(['echo hello']);
  });

  test('the container died before the command was started: it is run in the rebuilt one', async () => {
    const call = await proposed(greet());
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

  test('output that came while no worker was attached is reported by the next attempt', async () => {
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
