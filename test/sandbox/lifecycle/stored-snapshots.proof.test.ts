import { Readable } from 'node:stream';
import { Client } from 'pg';
import { loadConfig } from '../../../src/platform/config.ts';
import type { BlobStore } from '../../../src/store/blobs/blob-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestSandboxes, describeWithGvisor, output, type TestSandboxes } from './support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const FACTS = { version: '1', runtimes: ['runc'] };
const WHOLE = 'bytes: OK\n700 user';
const CHECK = 'sha256sum -c sum; stat -c "%a %U" private';
const never = () => new AbortController().signal;
const here = () => parts.sandboxes;
const onHost = (hostId: string, more: object = {}, store: Store = parts.store) =>
  parts.another({ store, config: { ...loadConfig(), LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: hostId, ...more } });
const elsewhere = (more: object = {}) => onHost('other-host', more);
const blobIds = async () => (await parts.store.blobs.list()).map(({ blobId }) => blobId);
const volumes = async () =>
  (await parts.docker.listVolumes({ filters: { label: [`longshore.installation=${parts.installation}`] } })).Volumes.map(({ Name }) => Name);
const nothing = async () => ({ volumes: await volumes(), blobs: await blobIds(), rows: await parts.store.snapshots.list({}) });
const NOTHING = { volumes: [], blobs: [], rows: [] };

/** As if a minute had passed since it was said that it is being stored. */
async function passStoring(snapshotId: string): Promise<void> {
  const client = new Client(parts.databaseUrl);
  await client.connect();
  await client.query('update snapshots set storing_until = clock_timestamp() where snapshot_id = $1', [snapshotId]);
  await client.end();
}

/** A store whose blobs are read or written with a step in the middle of it. */
function withStep(step: { reading?: () => Promise<void>; writing?: () => Promise<void> }): Store {
  const { blobs } = parts.store;
  async function* interrupted(content: AsyncIterable<Buffer>, middle?: () => Promise<void>) {
    let count = 0;
    for await (const piece of content) {
      if ((count += 1) === 2) await middle?.();
      yield piece;
    }
  }
  const stepping: BlobStore = {
    ...blobs,
    put: (content) => blobs.put(Readable.from(interrupted(content, step.writing), { objectMode: false })),
    get: (blobId) => Readable.from(interrupted(blobs.get(blobId), step.reading), { objectMode: false }),
  };
  return { ...parts.store, blobs: stepping };
}

/** A stopped sandbox with files that do not fit into one piece. */
async function source() {
  const owner = parts.newOwner();
  const { handle } = await here().open(owner, {});
  await handle.run('head -c 6000000 /dev/urandom > bytes; sha256sum bytes > sum; mkdir -m 700 private');
  await here().stop(owner.sandboxId);
  return owner;
}

async function restored(sandboxes: typeof parts.sandboxes, snapshotId: string) {
  const owner = parts.newOwner();
  const { handle } = await sandboxes.restore(snapshotId, owner);
  const said = await output(handle, CHECK);
  await sandboxes.destroy(owner.sandboxId);
  return said;
}

test('one that was made before there were other hosts is restored there when it is in the blob store', async () => {
  const owner = await source();
  const { snapshotId, stored } = await here().snapshot(owner.sandboxId, { name: 'early' });
  expect({ stored, blobs: await blobIds() }).toEqual({ stored: false, blobs: [] });
  await here().storeSnapshots!(never());
  expect(await blobIds()).toEqual([]);
  await expect(elsewhere().restore(snapshotId, parts.newOwner())).rejects.toMatchObject({
    code: 'SNAPSHOT_ELSEWHERE',
    message: `Snapshot "${snapshotId}" is on host "test-host", this is "other-host", and it is not in the blob store yet. Try again when a worker of that host has put it there.`,
    retryable: true,
  });
  await parts.store.fleet.describe('other-host', FACTS);
  // A worker that has begun and dies keeps the others from it for a minute only.
  expect(await parts.store.snapshots.beginStoring(snapshotId)).toMatchObject({ snapshotId });
  await here().storeSnapshots!(never());
  expect(await parts.store.snapshots.unstored('test-host')).toEqual([]);
  expect(await blobIds()).toEqual([]);
  await passStoring(snapshotId);
  await elsewhere().storeSnapshots!(never());
  expect(await blobIds()).toEqual([]);
  await Promise.all([here().storeSnapshots!(never()), onHost('test-host').storeSnapshots!(never())]);
  expect(await blobIds()).toHaveLength(1);
  expect(await restored(elsewhere(), snapshotId)).toBe(WHOLE);
  await here().destroy(owner.sandboxId);
  await here().removeSnapshot(snapshotId);
  expect(await nothing()).toEqual(NOTHING);
});

test('with another host, one is in the blob store when it is made, and outlives its own host; other tenants do not find it', async () => {
  await parts.store.fleet.describe('other-host', FACTS);
  const owner = await source();
  const { snapshotId, stored } = await here().snapshot(owner.sandboxId, { name: 'kept' });
  expect({ stored, blobs: (await blobIds()).length }).toEqual({ stored: true, blobs: 1 });
  await expect(elsewhere().restore(snapshotId, { ...parts.newOwner(), tenantId: 'another' })).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
  expect(await Promise.all([elsewhere(), onHost('third-host'), elsewhere()].map((sandboxes) => restored(sandboxes, snapshotId)))).toEqual([
    WHOLE,
    WHOLE,
    WHOLE,
  ]);
  await parts.another({ reapGraceMs: -60_000 }).reap();
  expect(await blobIds()).toHaveLength(1);
  await here().destroy(owner.sandboxId);
  await parts.docker.getVolume(`snapshot.${parts.installation}-${snapshotId}`).remove();
  expect(await restored(here(), snapshotId)).toBe(WHOLE);
  await elsewhere().removeSnapshot(snapshotId);
  expect(await nothing()).toEqual(NOTHING);
});

test('one without a name is removed from any host, and the reaper of its own one removes its volume', async () => {
  await parts.store.fleet.describe('other-host', FACTS);
  const owner = await source();
  await here().snapshot(owner.sandboxId);
  expect(await blobIds()).toHaveLength(1);
  const strict = parts.another({
    reapGraceMs: -60_000,
    config: { ...loadConfig(), LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'other-host', LONGSHORE_SNAPSHOT_DAYS: 1e-9 },
  });
  await strict.reap();
  expect({ rows: await parts.store.snapshots.list({}), blobs: await blobIds() }).toEqual({ rows: [], blobs: [] });
  await here().destroy(owner.sandboxId);
  await parts.another({ reapGraceMs: -60_000 }).reap();
  expect(await nothing()).toEqual(NOTHING);
});

test('one that is removed while it is restored elsewhere is not found, and leaves nothing', async () => {
  await parts.store.fleet.describe('other-host', FACTS);
  const owner = await source();
  const { snapshotId } = await here().snapshot(owner.sandboxId);
  const store = withStep({ reading: () => here().removeSnapshot(snapshotId) });
  await expect(onHost('other-host', {}, store).restore(snapshotId, parts.newOwner())).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
  await here().destroy(owner.sandboxId);
  expect(await nothing()).toEqual(NOTHING);
});

test('one that is removed while it is stored is gone, and leaves nothing', async () => {
  await parts.store.fleet.describe('other-host', FACTS);
  const owner = await source();
  const remove = async () => {
    for (const { snapshotId } of await parts.store.snapshots.list({})) await here().removeSnapshot(snapshotId);
  };
  const { snapshotId } = await onHost('test-host', {}, withStep({ writing: remove })).snapshot(owner.sandboxId);
  await expect(here().restore(snapshotId, parts.newOwner())).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
  await here().destroy(owner.sandboxId);
  expect(await nothing()).toEqual(NOTHING);
});

test('an upload that fails or is cut off leaves a snapshot that is complete on its host, and nothing in the blob store; a worker tries again', async () => {
  await parts.store.fleet.describe('other-host', FACTS);
  const owner = await source();
  const failing = withStep({
    writing: async () => {
      throw new Error('the store is away');
    },
  });
  const { snapshotId, stored } = await onHost('test-host', {}, failing).snapshot(owner.sandboxId);
  expect({ stored, blobs: await blobIds() }).toEqual({ stored: false, blobs: [] });
  expect(await restored(here(), snapshotId)).toBe(WHOLE);
  await passStoring(snapshotId);
  const cut = new AbortController();
  await onHost('test-host', {}, withStep({ writing: async () => cut.abort() })).storeSnapshots!(cut.signal);
  expect(await blobIds()).toEqual([]);
  await passStoring(snapshotId);
  await here().storeSnapshots!(never());
  expect(await restored(elsewhere(), snapshotId)).toBe(WHOLE);
  await here().destroy(owner.sandboxId);
  expect(await nothing()).toEqual(NOTHING);
});

test('one whose blob is gone is named, and can still be restored on its own host', async () => {
  await parts.store.fleet.describe('other-host', FACTS);
  const owner = await source();
  const { snapshotId } = await here().snapshot(owner.sandboxId);
  const [blobId] = await blobIds();
  await parts.store.blobs.remove(blobId!);
  await expect(elsewhere().restore(snapshotId, parts.newOwner())).rejects.toMatchObject({
    message: `Snapshot "${snapshotId}" cannot be restored here: it is not in the blob store (blob ${blobId}). Restore it on its own host, or remove it.`,
  });
  expect(await restored(here(), snapshotId)).toBe(WHOLE);
  await here().destroy(owner.sandboxId);
  expect(await nothing()).toEqual(NOTHING);
});

describeWithGvisor('in gVisor', () => {
  test('the processes go on in a sandbox that another host makes of it', async () => {
    await parts.store.fleet.describe('other-host', FACTS);
    const copying = { LONGSHORE_COPY_CHECKPOINTS: 'yes' };
    const owner = parts.newOwner();
    const { handle } = await onHost('test-host', copying).open(owner, { runtime: 'runsc' });
    await handle.run('echo kept > /tmp/memory');
    const { snapshotId, memory } = await onHost('test-host', copying).snapshot(owner.sandboxId);
    expect({ memory, blobs: (await blobIds()).length }).toEqual({ memory: true, blobs: 2 });
    const [warm, cold] = [parts.newOwner(), parts.newOwner()];
    const opened = await elsewhere(copying).restore(snapshotId, warm);
    expect({ lost: opened.lost, said: await output(opened.handle, 'cat /tmp/memory') }).toEqual({ lost: undefined, said: 'kept' });
    await elsewhere(copying).destroy(warm.sandboxId);
    const without = await elsewhere().restore(snapshotId, cold);
    expect(await output(without.handle, 'cat /tmp/memory || echo none')).toBe('none');
    await elsewhere().destroy(cold.sandboxId);
    await here().destroy(owner.sandboxId);
    expect(await nothing()).toEqual(NOTHING);
  });
});
