import type { Checkpoints, Engine } from '../../../../src/sandbox/engine/engine.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import { createTestSandboxes, describeWithGvisor, output, until, type TestSandboxes } from '../support.ts';

/** How long a command rests, and how much of a silence its supervisor takes for a busy machine and counts. Milliseconds. */
const REST_MS = 3000;
const CLOCK_SLACK_MS = 1000;
const GVISOR = { runtime: 'runsc' } as const;

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const inspect = (sandboxId: string) => parts.docker.getContainer(parts.containerName(sandboxId)).inspect();
const lostNote = async (sandboxId: string) => (await parts.sandboxes.open({ sandboxId, tenantId: 'tenant' }, GVISOR)).lost;

describe('a sandbox that cannot hibernate', () => {
  test('is stopped instead, and the tier says so', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, { runtime: 'runc' });
    await handle.writeFile('/home/user/kept', 'yes');
    expect(await parts.sandboxes.hibernate(owner.sandboxId)).toBe('stopped');
    expect(await output(handle, 'cat kept')).toBe('yes');
  });

  test('stays as it is when it may not be stopped', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, { runtime: 'runc' });
    await parts.sandboxes.freeze(owner.sandboxId);
    expect(await parts.sandboxes.hibernate(owner.sandboxId, { otherwise: 'stay' })).toBe('frozen');
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('frozen');
  });
});

describeWithGvisor('hibernating', () => {
  test('the capabilities are found out by trying', async () => {
    const engine = createEngine(process.env['DOCKER_HOST']);
    const before: unknown[] = [];
    const checkpoints = engine.checkpoints!;
    const restore: Checkpoints['restore'] = async (container, name) => {
      before.push((await engine.inspect(container))?.status);
      await checkpoints.restore(container, name);
    };
    expect(await parts.another({ engine: { ...engine, checkpoints: { ...checkpoints, restore } } }).capabilities()).toEqual({ gvisor: true, checkpoint: true });
    // Told to restore one that it takes for running, an engine does nothing and says that it is done.
    expect(before.at(-1)).toBe('hibernated');
  });

  test('a command goes on in the middle, with its output complete, its process the same and the rest not counted', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, { hibernateAfterMs: 1 });
    expect((await inspect(owner.sandboxId)).HostConfig.Runtime).toBe('runsc');
    let seen = '';
    const started = performance.now();
    const running = handle.run('mkfifo gate; echo begun $$; read line < gate; echo ended $line $$', {
      onStdout: (chunk) => (seen += chunk.toString()),
      timeoutMs: 600_000,
    });
    await until(async () => seen.includes('begun'), 'the command has begun');
    expect(await parts.sandboxes.hibernate(owner.sandboxId)).toBe('hibernated');
    expect((await inspect(owner.sandboxId)).State.Running).toBe(false);
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('hibernated');
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('running');
    await handle.run('echo well > gate');
    const { stdout, status, exitCode, durationMs } = await running;
    expect(durationMs).toBeLessThan(performance.now() - started - REST_MS + CLOCK_SLACK_MS);
    expect({ status, exitCode }).toEqual({ status: 'exited', exitCode: 0 });
    expect(stdout.text).toMatch(/^begun (\d+)\nended well \1\n$/);
    expect(seen).toBe(stdout.text);
    expect(await lostNote(owner.sandboxId)).toBeUndefined();
  });

  test('an operation wakes it, whichever worker put it to disk', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.run('echo kept > /tmp/memory');
    await parts.sandboxes.freeze(owner.sandboxId);
    expect(await parts.another().hibernate(owner.sandboxId)).toBe('hibernated');
    const [sample] = (await parts.sandboxes.measure!({ disk: true })).filter(({ sandboxId }) => sandboxId === owner.sandboxId);
    expect(sample).toMatchObject({ memoryBytes: 0, processes: 0 });
    // Its memory; of files it has none.
    expect(sample?.diskBytes).toBeGreaterThan(1024 * 1024);
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
    expect(await parts.store.sandboxes.get(owner.sandboxId)).toMatchObject({ state: 'running' });
  });

  test('the stream of the first answer serves the operations that follow', async () => {
    const engine = createEngine(process.env['DOCKER_HOST']);
    let opened = 0;
    const openBridge: Engine['openBridge'] = (container) => {
      opened += 1;
      return engine.openBridge(container);
    };
    const owner = parts.newOwner();
    const sandboxes = parts.another({ engine: { ...engine, openBridge } });
    const { handle } = await sandboxes.open(owner, GVISOR);
    await sandboxes.hibernate(owner.sandboxId);
    opened = 0;
    expect(await sandboxes.wake(owner.sandboxId)).toBe('running');
    expect(await output(handle, 'echo well')).toBe('well');
    expect(opened).toBe(1);
  });

  test('ten callers in two workers wake it at once, and all of them succeed', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.start('echo $$ > /tmp/pid; exec sleep 10000', { execId: 'call_long', timeoutMs: 0 });
    await until(async () => (await output(handle, 'cat /tmp/pid 2>/dev/null; true')) !== '', 'the command has begun');
    await parts.sandboxes.hibernate(owner.sandboxId);
    const second = parts.another();
    const tiers = await Promise.all(Array.from({ length: 10 }, (_, index) => (index % 2 ? parts.sandboxes : second).wake(owner.sandboxId)));
    expect(new Set(tiers)).toEqual(new Set(['running']));
    expect(await output(handle, 'kill -0 $(cat /tmp/pid) && echo alive')).toBe('alive');
    expect((await handle.execs()).find(({ execId }) => execId === 'call_long')).toMatchObject({ state: 'running' });
  });

  test('another worker that waits on a command does not keep it awake, and gets its end', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, GVISOR);
    const { handle } = await parts.another().open(owner, GVISOR);
    const running = handle.run('mkfifo gate; read line < gate; echo $line', { execId: 'call_wait', timeoutMs: 0 });
    await until(async () => (await output(handle, 'test -p gate && echo there; true')) === 'there', 'the command waits');
    expect(await parts.sandboxes.hibernate(owner.sandboxId)).toBe('hibernated');
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('running');
    await handle.run('echo well > gate');
    expect((await running).stdout.text).toBe('well\n');
  });

  test('what a worker left that died before or after the checkpoint is finished by the next one', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.run('echo kept > /tmp/memory');
    const row = (await parts.store.sandboxes.get(owner.sandboxId))!;
    await parts.store.sandboxes.change(owner.sandboxId, row.generation, { state: 'hibernated' });
    expect(await parts.another().wake(owner.sandboxId)).toBe('running');
    await parts.sandboxes.hibernate(owner.sandboxId);
    const resting = (await parts.store.sandboxes.get(owner.sandboxId))!;
    await parts.store.sandboxes.change(owner.sandboxId, resting.generation, { state: 'running' });
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('hibernated');
    expect((await parts.sandboxes.reap()).lost).toEqual([]);
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('running');
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
  });

  test('a move to another container that was cut off before its last step is finished', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.run('echo kept > /tmp/memory');
    await parts.sandboxes.hibernate(owner.sandboxId);
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).rename({ name: `spare.${parts.containerName(owner.sandboxId)}` });
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('running');
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
  });

  test('stopping it ends its processes and keeps its files', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.writeFile('/home/user/kept', 'yes');
    await handle.start('sleep 10000', { execId: 'call_cut', timeoutMs: 0 });
    await parts.sandboxes.hibernate(owner.sandboxId);
    expect(await parts.sandboxes.stop(owner.sandboxId)).toBe('stopped');
    expect(await lostNote(owner.sandboxId)).toContain('call_cut');
    expect(await output(handle, 'cat kept')).toBe('yes');
  });

  test('without its checkpoint it is lost, and is rebuilt on its files with a note that says so', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.writeFile('/home/user/kept', 'yes');
    await parts.sandboxes.hibernate(owner.sandboxId);
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).remove({ force: true });
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('lost');
    expect(await lostNote(owner.sandboxId)).toContain('its container is gone');
    expect(await output(handle, 'cat kept')).toBe('yes');
  });

  test('a holder that was removed is made anew for those that need it', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.writeFile('/home/user/kept', 'yes');
    await parts.sandboxes.stop(owner.sandboxId);
    await parts.docker.getContainer(`holder.${parts.installation}`).remove({ force: true });
    expect(await output(handle, 'cat kept')).toBe('yes');
  });

  test('destroying it removes everything, and the reaper removes the unused holder', async () => {
    await using own = await createTestSandboxes();
    const owner = own.newOwner();
    await own.sandboxes.open(owner, GVISOR);
    await own.sandboxes.hibernate(owner.sandboxId);
    const eager = own.another({ reapGraceMs: -60_000 });
    expect((await eager.reap()).removedContainers).toEqual([]);
    await own.sandboxes.destroy(owner.sandboxId);
    expect((await eager.reap()).removedContainers).toEqual([`holder.${own.installation}`]);
    expect(await own.docker.listContainers({ all: true, filters: { label: [`longshore.installation=${own.installation}`] } })).toEqual([]);
  });
});
