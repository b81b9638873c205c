import { loadConfig } from '../../../../src/platform/config.ts';
import type { BlobStore } from '../../../../src/store/blobs/blob-store.ts';
import { createTestSandboxes, describeWithGvisor, output, until, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const host = (hostId: string, more: object = {}) =>
  parts.another({ config: { ...loadConfig(), LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: hostId, ...more } });
/** Names of everything that the engine and the blob store have of a sandbox. */
const traces = async (sandboxId: string) => {
  const label = [`longshore.sandbox=${sandboxId}`, `longshore.installation=${parts.installation}`];
  const containers = await parts.docker.listContainers({ all: true, filters: { label } });
  const { Volumes } = await parts.docker.listVolumes({ filters: { label } });
  const row = await parts.store.sandboxes.get(sandboxId);
  const blobs = (await parts.store.blobs.list()).filter(({ blobId }) => [row?.archive?.files.blobId, row?.archive?.memory?.blobId].includes(blobId));
  return { containers: containers.length, volumes: Volumes.length, blobs: blobs.length };
};
const blobCount = async () => (await parts.store.blobs.list()).length;

async function archived() {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.run('umask 077; mkdir deep; head -c 3000000 /dev/urandom > deep/bytes; ln -s deep/bytes link; sha256sum deep/bytes > sum');
  await handle.start('sleep 1000', { execId: 'call_cut', timeoutMs: 0 });
  expect(await parts.sandboxes.archive(owner.sandboxId)).toBe('archived');
  return { owner, handle };
}
const CHECK = 'sha256sum -c sum; stat -c "%a %U %F" deep link';
const WHOLE = 'deep/bytes: OK\n700 user directory\n777 user symbolic link';

describe('an archived sandbox', () => {
  test('has nothing on its host, and an operation brings it back with its files', async () => {
    const { owner, handle } = await archived();
    expect(await traces(owner.sandboxId)).toEqual({ containers: 0, volumes: 0, blobs: 1 });
    const { archive } = (await parts.store.sandboxes.get(owner.sandboxId))!;
    expect(archive).toEqual({ files: { blobId: expect.any(String), bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } });
    expect(await parts.sandboxes.archive(owner.sandboxId)).toBe('archived');
    expect(await parts.sandboxes.freeze(owner.sandboxId)).toBe('archived');
    expect(await parts.sandboxes.stop(owner.sandboxId)).toBe('archived');
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('archived');
    expect(await output(handle, CHECK)).toBe(WHOLE);
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('running');
    expect((await handle.execs()).find(({ execId }) => execId === 'call_cut')).toMatchObject({ state: 'lost' });
    expect(await blobCount()).toBe(0);
    await parts.sandboxes.archive(owner.sandboxId);
    await parts.sandboxes.destroy(owner.sandboxId);
    expect({ ...(await traces(owner.sandboxId)), all: await blobCount() }).toEqual({ containers: 0, volumes: 0, blobs: 0, all: 0 });
  });

  test('comes back on whichever host opens it, and of many that do so at once one brings it back', async () => {
    const { owner } = await archived();
    const hosts = [host('host-a'), host('host-a'), host('host-b')];
    const opened = await Promise.allSettled(hosts.map((sandboxes) => sandboxes.open(owner, {})));
    const { hostId, volumeName } = (await parts.store.sandboxes.get(owner.sandboxId))!;
    expect(['host-a', 'host-b']).toContain(hostId);
    const losers = opened.filter((result) => result.status === 'rejected');
    for (const { reason } of losers) expect(reason).toMatchObject({ code: 'SANDBOX_UNREACHABLE' });
    expect(losers).toHaveLength(hostId === 'host-a' ? 1 : 2);
    const winner = opened.find((result) => result.status === 'fulfilled');
    expect(await output(winner!.value.handle, CHECK)).toBe(WHOLE);
    await expect(parts.sandboxes.open(owner, {})).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE', message: expect.stringContaining(hostId) });
    expect(await traces(owner.sandboxId)).toEqual({ containers: 1, volumes: 1, blobs: 0 });
    expect((await parts.docker.listVolumes({ filters: { label: [`longshore.sandbox=${owner.sandboxId}`] } })).Volumes.map(({ Name }) => Name)).toContain(
      volumeName,
    );
    await hosts[hostId === 'host-a' ? 0 : 2]!.destroy(owner.sandboxId);
    expect(await traces(owner.sandboxId)).toEqual({ containers: 0, volumes: 0, blobs: 0 });
  });

  test('whose blob was damaged is not brought back, and the blob is kept for another try', async () => {
    const { owner } = await archived();
    const { generation, archive } = (await parts.store.sandboxes.get(owner.sandboxId))!;
    const { files } = archive!;
    const changed = await parts.store.sandboxes.change(owner.sandboxId, generation, {
      state: 'archived',
      archive: { files: { ...files, sha256: '0'.repeat(64) } },
    });
    await expect(parts.sandboxes.open(owner, {})).rejects.toMatchObject({
      code: 'ARCHIVE_DAMAGED',
      message: `The archive of sandbox "${owner.sandboxId}" is not what was stored: its digest does not match. It was left as it is; bring blob "${files.blobId}" back from a backup and try again.`,
    });
    expect(await traces(owner.sandboxId)).toEqual({ containers: 0, volumes: 0, blobs: 1 });
    const missing = { files: { ...files, blobId: 'longshore-blob_none' } };
    const other = await parts.store.sandboxes.change(owner.sandboxId, changed!.generation, { state: 'archived', archive: missing });
    await expect(parts.sandboxes.wake(owner.sandboxId)).rejects.toMatchObject({
      code: 'ARCHIVE_DAMAGED',
      message: expect.stringContaining('it is not in the blob store'),
    });
    await parts.store.sandboxes.change(owner.sandboxId, other!.generation, { state: 'archived', archive: { files } });
    expect(await output((await parts.sandboxes.open(owner, {})).handle, CHECK)).toBe(WHOLE);
    await parts.sandboxes.destroy(owner.sandboxId);
  });

  test('that is woken while it is packed stays here, and its blob goes', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    await parts.sandboxes.stop(owner.sandboxId);
    let [isPacked, goOn] = [false, () => {}];
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const put: BlobStore['put'] = async (content) => {
      const blob = await parts.store.blobs.put(content);
      isPacked = true;
      await gate;
      return blob;
    };
    const archiving = parts.another({ store: { ...parts.store, blobs: { ...parts.store.blobs, put } } }).archive(owner.sandboxId);
    await until(async () => isPacked, 'it is packed');
    expect(await parts.another().wake(owner.sandboxId)).toBe('running');
    goOn();
    expect(await archiving).toBe('running');
    expect(await blobCount()).toBe(0);
    expect(await output(handle, 'cat kept')).toBe('yes');
    await parts.sandboxes.destroy(owner.sandboxId);
  });

  test('what a crash has left on the host or in the blob store is reaped, and what is needed is not', async () => {
    const { owner } = await archived();
    // As if the worker had died between the change of the row and the removal.
    const name = parts.containerName(owner.sandboxId);
    const labels = { 'longshore.installation': parts.installation, 'longshore.sandbox': owner.sandboxId };
    await parts.docker.createVolume({ Name: name, Labels: labels });
    const image = process.env['LONGSHORE_TEST_IMAGE'] ?? 'longshore-sandbox:latest';
    await parts.docker.createContainer({ name, Image: image, Labels: labels, HostConfig: { Binds: [`${name}:/home`] } });
    await parts.store.blobs.put((async function* () {})() as never);
    const eager = parts.another({ reapGraceMs: -60_000 });
    const reaped = await eager.reap();
    expect(reaped).toEqual({ removedContainers: [name], removedVolumes: [name], lost: [] });
    expect(await blobCount()).toBe(1);
    const { handle } = await parts.sandboxes.open(owner, {});
    expect(await output(handle, CHECK)).toBe(WHOLE);
    expect(await eager.reap()).toEqual({ removedContainers: [], removedVolumes: [], lost: [] });
    await parts.sandboxes.destroy(owner.sandboxId);
  });

  test('brought back where its old container was left behind does not run on the old volume', async () => {
    const { owner } = await archived();
    const name = parts.containerName(owner.sandboxId);
    const image = process.env['LONGSHORE_TEST_IMAGE'] ?? 'longshore-sandbox:latest';
    const labels = { 'longshore.installation': parts.installation, 'longshore.sandbox': owner.sandboxId };
    await parts.docker.createContainer({ name, Image: image, Labels: labels, HostConfig: { NetworkMode: 'none' } });
    const { handle } = await parts.sandboxes.open(owner, {});
    expect(await output(handle, CHECK)).toBe(WHOLE);
    await parts.sandboxes.destroy(owner.sandboxId);
  });
});

describeWithGvisor('a hibernated sandbox', () => {
  const GVISOR = { runtime: 'runsc' } as const;
  const able = (hostId: string) => host(hostId, { LONGSHORE_COPY_CHECKPOINTS: 'yes' });

  test('is archived with its processes, which go on where it is brought back', async () => {
    const owner = parts.newOwner();
    const here = able('test-host');
    const { handle } = await here.open(owner, GVISOR);
    await handle.start('mkfifo gate; echo $$ > begun; read line < gate; echo $line $$', { execId: 'call_wait', timeoutMs: 0 });
    await until(async () => handle.fileExists('/home/user/begun'), 'the command waits');
    const begun = await output(handle, 'cat begun');
    expect(await here.archive(owner.sandboxId, { otherwise: 'stay' })).toBe('archived');
    expect(await traces(owner.sandboxId)).toEqual({ containers: 0, volumes: 0, blobs: 2 });
    const there = able('host-a');
    const opened = await there.open(owner, GVISOR);
    expect(opened.lost).toBeUndefined();
    await opened.handle.run('echo well > gate');
    expect((await opened.handle.attach('call_wait')).stdout.text).toBe(`well ${begun}\n`);
    // Once more: what was brought back can be put away again.
    expect(await there.archive(owner.sandboxId)).toBe('archived');
    expect(await output((await here.open(owner, GVISOR)).handle, 'cat begun')).toBe(begun);
    await here.destroy(owner.sandboxId);
    expect({ ...(await traces(owner.sandboxId)), all: await blobCount() }).toEqual({ containers: 0, volumes: 0, blobs: 0, all: 0 });
  });

  test('whose container a crash kept from getting its name is found by its id, or destroyed with it', async () => {
    const owner = parts.newOwner();
    const here = able('test-host');
    const { handle } = await here.open(owner, GVISOR);
    await handle.run('echo kept > /tmp/memory');
    const rename = async () => {
      await here.hibernate(owner.sandboxId);
      const row = (await parts.store.sandboxes.get(owner.sandboxId))!;
      await parts.docker.getContainer(row.containerName).rename({ name: `copy.${row.containerName}.1` });
    };
    await rename();
    expect(await output(handle, 'cat /tmp/memory')).toBe('kept');
    await rename();
    await here.destroy(owner.sandboxId);
    expect(await traces(owner.sandboxId)).toEqual({ containers: 0, volumes: 0, blobs: 0 });
  });

  test('on a host that cannot wake its processes begins with its files, and the note says what was cut off', async () => {
    const owner = parts.newOwner();
    const here = able('test-host');
    const { handle } = await here.open(owner, GVISOR);
    await handle.start('echo yes > kept; sleep 1000', { execId: 'call_cut', timeoutMs: 0 });
    await until(async () => handle.fileExists('/home/user/kept'), 'the command runs');
    await here.archive(owner.sandboxId);
    const opened = await host('host-a').open(owner, GVISOR);
    expect(opened.lost).toMatch(
      /^The sandbox was started anew: it was archived with its processes, and this host cannot wake them\. .*Cut off while running, .*\(call_cut\)\.$/,
    );
    expect(await output(opened.handle, 'cat kept')).toBe('yes');
    await host('host-a').destroy(owner.sandboxId);
  });

  test('whose processes cannot be taken along stays, when it may not be stopped', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, GVISOR);
    expect(await parts.sandboxes.archive(owner.sandboxId, { otherwise: 'stay' })).toBe('hibernated');
    expect(await parts.sandboxes.archive(owner.sandboxId)).toBe('archived');
    await parts.sandboxes.destroy(owner.sandboxId);
  });
});
