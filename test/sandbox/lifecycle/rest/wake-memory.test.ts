import { failure } from '../../../../src/contracts/errors.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import type { Checkpoints, ContainerSpec, Engine } from '../../../../src/sandbox/engine/engine.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import { wakeMemory } from '../../../../src/sandbox/lifecycle/rest/wake-memory.ts';
import { createTestSandboxes, describeWithGvisor, output, type TestSandboxes } from '../support.ts';

const IMAGE = process.env['LONGSHORE_TEST_IMAGE'] ?? 'longshore-sandbox:latest';
const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });

/** As in a worker with a caller that waits for the sandbox to wake: the sandbox is asked over a stream of its own. */
const connections = { greet: () => undefined };

let parts: TestSandboxes;
const engine = createEngine(process.env['DOCKER_HOST']);
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

async function hibernated() {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, { runtime: 'runsc' });
  await handle.run('echo kept > /tmp/memory');
  expect(await parts.sandboxes.hibernate(owner.sandboxId)).toBe('hibernated');
  const row = (await parts.store.sandboxes.get(owner.sandboxId))!;
  return { handle, row, container: (await engine.inspect(row.containerName))! };
}

/** An engine that refuses to restore one container. */
function refusing(container: string): { engine: Engine; tries: () => number } {
  let tries = 0;
  const checkpoints = engine.checkpoints!;
  const restore: Checkpoints['restore'] = async (id, name) => {
    if (id !== container) return checkpoints.restore(id, name);
    tries += 1;
    throw failure('DOCKER_FAILED', { action: 'restore', problem: 'id already in use' });
  };
  return { engine: { ...engine, checkpoints: { ...checkpoints, restore } }, tries: () => tries };
}

describeWithGvisor('waking a sandbox whose container the engine refuses to start', () => {
  test.concurrent('goes on in a fresh container on the same volume, where copying checkpoints is allowed', async () => {
    const { handle, row, container } = await hibernated();
    const refused = refusing(container.id);
    const context = { engine: refused.engine, installation: parts.installation, standardImage: IMAGE, copyCheckpoints: true, connections, log };
    const specOf = async (): Promise<ContainerSpec> => ({
      name: row.containerName,
      image: IMAGE,
      volumeName: row.volumeName,
      labels: container.labels,
      memoryMb: 1024,
      cpus: 1,
      pids: 256,
      readOnlyRoot: true,
      runtime: { name: 'runsc', holder: container.holder! },
    });
    const woken = await wakeMemory(context, row, container, specOf);
    expect(woken).toEqual({ outcome: 'awake', containerId: expect.any(String) });
    expect(woken).not.toMatchObject({ containerId: container.id });
    expect(refused.tries()).toBeGreaterThan(3);
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
  });

  test.concurrent('keeps the checkpoint where that is not allowed, and a later try succeeds', async () => {
    const { handle, row, container } = await hibernated();
    const context = { engine: refusing(container.id).engine, installation: parts.installation, standardImage: IMAGE, copyCheckpoints: false, connections, log };
    const woken = await wakeMemory(context, row, container, () => Promise.reject(new Error('not asked for')));
    expect(woken).toEqual({ outcome: 'failed', problem: 'id already in use' });
    expect(await engine.inspect(row.containerName)).toMatchObject({ status: 'hibernated' });
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
  });
});
