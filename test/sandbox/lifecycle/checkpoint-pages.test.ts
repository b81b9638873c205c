import { gunzipSync } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { createEngine } from '../../../src/sandbox/engine/docker/engine.ts';
import { createTestSandboxes, describeWithGvisorScript, output, type TestSandboxes } from './support.ts';

const IMAGE = process.env['LONGSHORE_TEST_IMAGE'] ?? 'longshore-sandbox:latest';
const GVISOR = { runtime: 'runsc' } as const;

let parts: TestSandboxes;
const engine = createEngine(process.env['DOCKER_HOST']);
beforeAll(async () => {
  parts = await createTestSandboxes({ config: { LONGSHORE_COPY_CHECKPOINTS: 'yes' } });
});
afterAll(async () => parts[Symbol.asyncDispose]());

interface Listing {
  listCheckpoint(): Promise<{ Name: string }[] | Buffer>;
  deleteCheckpoint(name: string): Promise<unknown>;
}
const containerOf = (sandboxId: string) => parts.docker.getContainer(parts.containerName(sandboxId)) as unknown as Listing;
/** All that the engine has of a sandbox as checkpoints. */
async function listed(sandboxId: string): Promise<string[]> {
  const found = await containerOf(sandboxId).listCheckpoint();
  return Array.isArray(found) ? found.map(({ Name }) => Name).toSorted() : [];
}
async function hibernated() {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, GVISOR);
  await handle.run('echo kept > /tmp/memory');
  expect(await parts.sandboxes.hibernate(owner.sandboxId)).toBe('hibernated');
  return { ...owner, handle };
}

describeWithGvisorScript('the pages of a checkpoint', () => {
  test('are beside it while the sandbox rests, travel with it, and are gone when it has woken', async () => {
    const { sandboxId, handle } = await hibernated();
    const { id, checkpoint } = (await engine.inspect(parts.containerName(sandboxId)))!;
    expect(await listed(sandboxId)).toEqual([checkpoint, `${checkpoint}.pages`]);
    const packed = await buffer(engine.copies!.jobs(parts.installation, IMAGE).pack({ container: id, checkpoint: checkpoint! }));
    // A supervisor in its interpreter has more memory than that.
    expect(gunzipSync(packed).length).toBeGreaterThan(4 * 1024 * 1024);
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
    expect(await listed(sandboxId)).toEqual([]);
    await parts.sandboxes.destroy(sandboxId);
  });

  test('are beside the checkpoint of a fork as well, and the source keeps none', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, GVISOR);
    await handle.run('echo kept > /tmp/memory');
    const [forkId] = await parts.sandboxes.fork(owner.sandboxId, 1);
    expect(await listed(owner.sandboxId)).toEqual([]);
    const row = (await parts.store.sandboxes.get(forkId!))!;
    expect(row.state).toBe('hibernated');
    const found = (await (parts.docker.getContainer(row.containerId!) as unknown as Listing).listCheckpoint()) as { Name: string }[];
    expect(found.map(({ Name }) => Name).toSorted()).toEqual(['rest-0', 'rest-0.pages']);
    const forked = await parts.sandboxes.open({ sandboxId: forkId!, tenantId: 'tenant' }, GVISOR);
    expect(forked.lost).toBeUndefined();
    expect(await output(forked.handle, 'cat /tmp/memory')).toBe('kept');
    expect(await listed(forkId!)).toEqual([]);
  });

  test('are reaped when a crash has left them without their checkpoint', async () => {
    const { sandboxId } = await hibernated();
    const [checkpoint, pages] = await listed(sandboxId);
    await containerOf(sandboxId).deleteCheckpoint(checkpoint!);
    expect(await listed(sandboxId)).toEqual([pages]);
    await parts.sandboxes.reap();
    expect(await listed(sandboxId)).toEqual([]);
  });
});
