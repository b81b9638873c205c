import { loadConfig } from '../../../../src/platform/config.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import { fenceOf } from '../../../../src/sandbox/engine/labels.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
const engine = createEngine(process.env['DOCKER_HOST']);
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const rowOf = async (sandboxId: string) => (await parts.store.sandboxes.get(sandboxId))!;
const containerOf = (sandboxId: string) => engine.inspect(parts.containerName(sandboxId));
/** The sandboxes of another host. For the rows its engine is another one; here it is the same. */
const on = (hostId: string) => parts.another({ config: { ...loadConfig(), LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: hostId } });

/** What another host does when it takes the sandbox over: the row names it, and a container that is to be made there. */
async function movedTo(hostId: string, { sandboxId, generation }: SandboxRow): Promise<SandboxRow> {
  const fence = await parts.store.sandboxes.drawFence();
  const moved = { state: 'lost', filesLost: true, hostId, fence, volumeName: `moved.${parts.installation}-${sandboxId}.${fence}` } as const;
  return (await parts.store.sandboxes.change(sandboxId, generation, moved))!;
}

describe('the number of a container', () => {
  test('is a label of the container and its volume, and that of the row; a container that takes its place has a higher one', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    const first = await rowOf(owner.sandboxId);
    expect(fenceOf((await containerOf(owner.sandboxId))!.labels)).toBe(first.fence);
    const volume = (await engine.volumesOf(parts.installation)).find(({ name }) => name === first.volumeName);
    expect(volume).toMatchObject({ fence: first.fence });

    await parts.docker.getContainer(first.containerName).remove({ force: true });
    await parts.sandboxes.open(owner, {});
    const second = await rowOf(owner.sandboxId);
    const container = (await containerOf(owner.sandboxId))!;
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(container).toMatchObject({ id: second.containerId });
    expect(fenceOf(container.labels)).toBe(second.fence);
  });

  test('stays when a container is frozen, stopped and started again', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    const { fence, containerId } = await rowOf(owner.sandboxId);
    await parts.sandboxes.freeze(owner.sandboxId);
    await parts.sandboxes.wake(owner.sandboxId);
    await parts.sandboxes.stop(owner.sandboxId);
    await parts.sandboxes.wake(owner.sandboxId);
    expect(await rowOf(owner.sandboxId)).toMatchObject({ fence, containerId });
  });

  test('is drawn once when ten callers of two workers rebuild a sandbox at once', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('kept', 'yes');
    const before = await rowOf(owner.sandboxId);
    await parts.docker.getContainer(before.containerName).remove({ force: true });
    const others = parts.another();
    const opened = await Promise.all(Array.from({ length: 10 }, (_, index) => (index % 2 ? parts.sandboxes : others).open(owner, {})));
    const row = await rowOf(owner.sandboxId);
    const containers = (await engine.containersOf(parts.installation)).filter(({ sandboxId }) => sandboxId === owner.sandboxId);
    expect(containers).toMatchObject([{ id: row.containerId, fence: row.fence }]);
    expect(await Promise.all(opened.map(({ handle: each }) => output(each, 'cat kept')))).toEqual(Array.from({ length: 10 }, () => 'yes'));
  });
});

describe('a container that a newer one has superseded on another host', () => {
  test('is refused before anything is sent to it, also over a stream that was open before, as soon as it is looked at', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    const running = handle.run('sleep 1000', { execId: 'call_1-1', timeoutMs: 0 });
    const outcome = expect(running).rejects.toMatchObject({ code: 'SANDBOX_SUPERSEDED' });
    await until(async () => (await handle.execs()).length > 0, 'the command has begun');
    const { fence, hostId, generation } = await movedTo('other-host', await rowOf(owner.sandboxId));
    await parts.store.sandboxes.change(owner.sandboxId, generation, { state: 'running', containerId: 'elsewhere' });
    await expect(parts.another().open(owner, {})).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE' });
    // Uses of a handle look at the row every five seconds.
    await until(
      async () =>
        handle.execs().then(
          () => false,
          (error: { code: string }) => error.code === 'SANDBOX_SUPERSEDED',
        ),
      'a refusal',
    );
    await expect(handle.run('touch late')).rejects.toMatchObject({
      code: 'SANDBOX_SUPERSEDED',
      message: `This container of sandbox "${owner.sandboxId}" may not act for it any more: it is on host "${hostId}" now, and this is "test-host". Nothing of it counts; the same call goes on in the newer one.`,
    });
    await outcome;
    expect(await rowOf(owner.sandboxId)).toMatchObject({ fence, hostId: 'other-host' });
  });

  test('is removed with its volume when its host cleans up, however young it is; what the newer one has is not touched', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('old', 'yes');
    const before = await rowOf(owner.sandboxId);
    await movedTo('other-host', before);
    const other = on('other-host');
    // One engine cannot have two containers of one name.
    await parts.docker.getContainer(before.containerName).rename({ name: `away-${before.containerName}` });
    const opened = await other.open(owner, {});
    const row = await rowOf(owner.sandboxId);
    expect(opened.lost).toBe(
      'The sandbox was started anew: its container is gone. Its files are gone as well; it starts empty. Which commands were cut off is not known.',
    );
    const { removedContainers, removedVolumes } = await parts.another().reap();
    expect(removedContainers).toContain(`away-${before.containerName}`);
    expect(removedVolumes).toContain(before.volumeName);
    expect([...removedContainers, ...removedVolumes]).not.toContain(row.volumeName);
    expect(await engine.inspect(row.containerName)).toMatchObject({ id: row.containerId, status: 'running' });
    expect(await output(opened.handle, 'ls')).toBe('');
  });

  test('is not taken for the newer one when the sandbox comes back to its host', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    const before = await rowOf(owner.sandboxId);
    const away = await movedTo('other-host', before);
    const back = await movedTo('test-host', away);
    const { handle } = await parts.another().open(owner, {});
    const row = await rowOf(owner.sandboxId);
    expect(row).toMatchObject({ state: 'running', fence: back.fence, volumeName: back.volumeName });
    expect(await engine.inspect(before.containerId!)).toBeUndefined();
    expect(await output(handle, 'echo here')).toBe('here');
  });
});

test('a container whose number is that of the row is found again by the next worker of its host, with what runs in it', async () => {
  const owner = parts.newOwner();
  const first = parts.another();
  const { handle } = await first.open(owner, {});
  await handle.start('sleep 1000', { execId: 'call_2-1', timeoutMs: 0 });
  await first[Symbol.asyncDispose]();
  const next = parts.another({ reapGraceMs: -60_000 });
  const { removedContainers, removedVolumes, lost } = await next.reap();
  const { containerName, volumeName } = await rowOf(owner.sandboxId);
  for (const name of [containerName, volumeName, owner.sandboxId]) expect([...removedContainers, ...removedVolumes, ...lost]).not.toContain(name);
  const again = await next.open(owner, {});
  expect(again.lost).toBeUndefined();
  expect(await again.handle.execs()).toMatchObject([{ execId: 'call_2-1', state: 'running' }]);
});

test('a sandbox from before there were numbers goes on, and its next container has one', async () => {
  const { sandboxId, tenantId } = parts.newOwner();
  const name = parts.containerName(sandboxId);
  const place = { hostId: 'test-host', containerName: name, volumeName: name, options: {} };
  await parts.store.sandboxes.ensure({ sandboxId, tenantId, state: 'creating', fence: 0, ...place });
  const { handle } = await parts.sandboxes.open({ sandboxId, tenantId }, {});
  await handle.writeFile('kept', 'yes');
  expect((await containerOf(sandboxId))!.labels).not.toHaveProperty('longshore.fence');
  const again = parts.another({ reapGraceMs: -60_000 });
  const { removedContainers, removedVolumes } = await again.reap();
  expect([...removedContainers, ...removedVolumes]).not.toContain(name);
  expect((await again.open({ sandboxId, tenantId }, {})).lost).toBeUndefined();

  await parts.docker.getContainer(name).kill();
  const { handle: next } = await again.open({ sandboxId, tenantId }, {});
  const row = await rowOf(sandboxId);
  expect(row.fence).toBeGreaterThan(0);
  expect(fenceOf((await containerOf(sandboxId))!.labels)).toBe(row.fence);
  expect(await output(next, 'cat kept')).toBe('yes');
});
