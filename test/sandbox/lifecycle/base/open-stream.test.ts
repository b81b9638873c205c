import { pino } from 'pino';
import { deferred } from '../../../../src/common/deferred.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import type { Engine } from '../../../../src/sandbox/engine/engine.ts';
import { openStream } from '../../../../src/sandbox/lifecycle/base/open-stream.ts';
import { connectSupervisor } from '../../../../src/sandbox/protocol/connect-supervisor.ts';
import type { Store } from '../../../../src/store/store.ts';
import { createTestSandboxes, until, waitingForLocks, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
const engine = createEngine(process.env['DOCKER_HOST']);
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

async function opened() {
  const owner = parts.newOwner();
  await parts.sandboxes.open(owner, {});
  return { sandboxId: owner.sandboxId, containerName: parts.containerName(owner.sandboxId) };
}

/** The rows, counting how often they are read. */
function counted(): { rows: Store['sandboxes']; looks: () => number } {
  let looks = 0;
  const rows = parts.store.sandboxes;
  return { rows: { ...rows, get: (sandboxId) => ((looks += 1), rows.get(sandboxId)) }, looks: () => looks };
}

describe('a new stream to a supervisor', () => {
  test('waits for a sandbox that is frozen on purpose, without thawing it, until it is woken', async () => {
    const target = await opened();
    await parts.sandboxes.freeze(target.sandboxId);
    const watched = counted();
    let stream: unknown;
    const opening = openStream({ engine, hostId: 'test-host', rows: watched.rows }, target, new AbortController().signal).then((opened) =>
      (stream = opened.stream).destroy(),
    );
    await until(async () => watched.looks() >= 3, 'three looks at the frozen sandbox');
    expect(stream).toBeUndefined();
    expect(await engine.inspect(target.containerName)).toMatchObject({ status: 'paused' });
    await parts.sandboxes.wake(target.sandboxId);
    await opening;
    expect(stream).toBeDefined();
  });

  test('is opened before a freeze that another worker wants meanwhile: frozen at that moment, both would wait for ever', async () => {
    const target = await opened();
    const begun = deferred<undefined>();
    const goOn = deferred<undefined>();
    const order: string[] = [];
    const slow: Engine = {
      ...engine,
      async openBridge(container) {
        begun.resolve(undefined);
        await goOn.promise;
        const stream = await engine.openBridge(container);
        order.push('opened');
        return stream;
      },
    };
    const opening = openStream({ engine: slow, hostId: 'test-host', rows: parts.store.sandboxes }, target, new AbortController().signal);
    await begun.promise;
    const freezing = parts
      .another()
      .freeze(target.sandboxId, { mode: 'pause' })
      .then(() => order.push('frozen'));
    await until(async () => (await waitingForLocks(parts)) > 0, 'the freeze waits');
    expect(await engine.inspect(target.containerName)).toMatchObject({ status: 'running' });
    goOn.resolve(undefined);
    await freezing;
    (await opening).stream.destroy();
    expect(order).toEqual(['opened', 'frozen']);
    expect(await engine.inspect(target.containerName)).toMatchObject({ status: 'paused' });
    await parts.sandboxes.wake(target.sandboxId);
  });

  test('that breaks before anybody listens to it ends no process, and is opened again', async () => {
    const target = await opened();
    let bridges = 0;
    const breaking: Engine = {
      ...engine,
      async openBridge(container) {
        const stream = await engine.openBridge(container);
        // As it does when the engine finds that the container has just ended.
        if ((bridges += 1) === 1) stream?.destroy(new Error('cannot exec in a stopped state'));
        return stream;
      },
    };
    const deps = { engine: breaking, hostId: 'test-host', rows: parts.store.sandboxes };
    const connection = connectSupervisor({
      sandboxId: target.sandboxId,
      log: pino({ level: 'silent' }),
      openStream: async (signal) => (await openStream(deps, target, signal)).stream,
    });
    await connection.ping();
    expect(bridges).toBe(2);
    connection.close();
  });

  test('stops waiting when it is not wanted any more', async () => {
    const target = await opened();
    await parts.sandboxes.freeze(target.sandboxId);
    const watched = counted();
    const closing = new AbortController();
    const opening = openStream({ engine, hostId: 'test-host', rows: watched.rows }, target, closing.signal);
    const outcome = expect(opening).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE' });
    await until(async () => watched.looks() >= 1, 'a look at the frozen sandbox');
    closing.abort();
    await outcome;
  });

  test('thaws a container that is frozen although its row says that it runs', async () => {
    const target = await opened();
    await parts.docker.getContainer(target.containerName).pause();
    const { stream } = await openStream({ engine, hostId: 'test-host', rows: parts.store.sandboxes }, target, new AbortController().signal);
    stream.destroy();
    expect(await engine.inspect(target.containerName)).toMatchObject({ status: 'running' });
  });

  test('is refused when the container has ended, was stopped or destroyed', async () => {
    const target = await opened();
    const deps = { engine, hostId: 'test-host', rows: parts.store.sandboxes };
    const signal = new AbortController().signal;
    await parts.docker.getContainer(target.containerName).kill();
    await expect(openStream(deps, target, signal)).rejects.toMatchObject({ code: 'SANDBOX_LOST', message: expect.stringContaining('137') });
    await parts.sandboxes.open({ sandboxId: target.sandboxId, tenantId: 'tenant' }, {});
    await parts.sandboxes.stop(target.sandboxId);
    await expect(openStream(deps, target, signal)).rejects.toMatchObject({ code: 'SANDBOX_LOST', message: expect.stringContaining('it was stopped') });
    await parts.sandboxes.destroy(target.sandboxId);
    await expect(openStream(deps, target, signal)).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  });
});
