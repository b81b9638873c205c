import { loadConfig } from '../../../src/platform/config.ts';
import { createTestSandboxes, describeWithGvisor, output, until, type TestSandboxes } from './support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const config = () => ({ ...loadConfig(), LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'test-host' });
const volumes = async () =>
  (await parts.docker.listVolumes({ filters: { label: [`longshore.installation=${parts.installation}`] } })).Volumes.map(({ Name }) => Name);
const copies = async () => {
  const label = [`longshore.installation=${parts.installation}`, 'longshore.role=copy'];
  return (await parts.docker.listContainers({ all: true, filters: { label } })).filter(({ Names }) => Names[0]?.startsWith('/copy.'));
};

/** A counter that a process writes on, line by line, into one file of every directory. */
const COUNT = 'mkdir -p a b; for ((i = 0; ; i += 1)); do echo $i >> a/count; echo $i >> b/count; done';

describe('a snapshot', () => {
  test('has the files of one moment, with their owners, modes and links, and the source runs on', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, { memoryMb: 256 });
    await handle.run('echo secret > private; chmod 600 private; ln -s private link; ln private hard; mkfifo pipe; chmod 750 .');
    await handle.start(COUNT, { execId: 'call_count', timeoutMs: 0 });
    await until(async () => handle.fileExists('/home/user/b/count'), 'the counter counts');
    const { memory, ...info } = await parts.sandboxes.snapshot(owner.sandboxId, { name: 'before the change' });
    expect(info).toEqual({
      snapshotId: expect.stringMatching(/^snap_/),
      ...owner,
      name: 'before the change',
      hostId: 'test-host',
      stored: false,
      createdAt: expect.any(String),
    });
    expect(memory).toBe(false);
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('running');
    const atSnapshot = await output(handle, 'wc -l < a/count');
    await handle.run('rm -r private link');
    await until(async () => Number(await output(handle, 'wc -l < a/count')) > Number(atSnapshot), 'the source counts on');

    const copy = parts.newOwner();
    const restored = await parts.sandboxes.restore(info.snapshotId, copy);
    expect(restored.lost).toMatch(/^The sandbox was started anew: it was restored from a snapshot\. .*\(call_count\)\.$/);
    expect(await output(restored.handle, 'cat link; stat -c "%a %U %h" private hard; stat -c %F pipe; stat -c %a .')).toBe(
      'secret\n600 user 2\n600 user 2\nfifo\n750',
    );
    const [a, b] = (await output(restored.handle, 'wc -l < a/count; wc -l < b/count')).split('\n').map(Number) as [number, number];
    expect(a - b === 0 || a - b === 1).toBe(true);
    // The same id in the copy is the command of the source, which was cut off there; it is not begun again.
    await expect(restored.handle.run(COUNT, { execId: 'call_count', timeoutMs: 0 })).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    expect((await handle.execs()).find(({ execId }) => execId === 'call_count')).toMatchObject({ state: 'running' });
    expect((await parts.docker.getContainer(parts.containerName(copy.sandboxId)).inspect()).HostConfig.Memory).toBe(256 * 1024 * 1024);

    await expect(parts.sandboxes.restore(info.snapshotId, copy)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(parts.sandboxes.restore(info.snapshotId, { ...parts.newOwner(), tenantId: 'another' })).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
    const elsewhere = parts.another({ config: { ...config(), LONGSHORE_HOST_ID: 'other-host' } });
    await expect(elsewhere.restore(info.snapshotId, parts.newOwner())).rejects.toMatchObject({ code: 'SNAPSHOT_ELSEWHERE' });
    expect(await copies()).toEqual([]);
    await parts.sandboxes.destroy(copy.sandboxId);
    await parts.sandboxes.destroy(owner.sandboxId);
    expect((await parts.sandboxes.snapshots({ sandboxId: owner.sandboxId })).map(({ name }) => name)).toEqual(['before the change']);
    await parts.sandboxes.removeSnapshot(info.snapshotId);
    await parts.sandboxes.removeSnapshot(info.snapshotId);
    expect(await volumes()).toEqual([]);
  });

  test('can be made of a frozen and of a stopped sandbox, which stay so', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    await parts.sandboxes.freeze(owner.sandboxId);
    await parts.sandboxes.snapshot(owner.sandboxId);
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('frozen');
    await parts.sandboxes.stop(owner.sandboxId);
    const { snapshotId } = await parts.sandboxes.snapshot(owner.sandboxId);
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('stopped');
    const copy = parts.newOwner();
    const restored = await parts.sandboxes.restore(snapshotId, copy);
    expect({ lost: restored.lost, kept: await output(restored.handle, 'cat kept') }).toEqual({ lost: undefined, kept: 'yes' });
    await parts.sandboxes.destroy(copy.sandboxId);
    await parts.sandboxes.destroy(owner.sandboxId);
    expect(await volumes()).toEqual([]);
  });

  test('without a name makes room for the next one; one with a name does not', async () => {
    const owner = parts.newOwner();
    const few = parts.another({ config: { ...config(), LONGSHORE_SNAPSHOT_LIMIT: 2 } });
    await few.open(owner, {});
    await few.stop(owner.sandboxId);
    const names = async () => (await few.snapshots({ sandboxId: owner.sandboxId })).map(({ name }) => name);
    await few.snapshot(owner.sandboxId);
    await few.snapshot(owner.sandboxId, { name: 'first' });
    await few.snapshot(owner.sandboxId);
    expect(await names()).toEqual(['first', undefined]);
    await expect(few.snapshot(owner.sandboxId, { name: 'first' })).rejects.toMatchObject({
      message: 'name: the sandbox has a snapshot "first" already. Use another name, or remove that one first',
    });
    await few.snapshot(owner.sandboxId, { name: 'second' });
    expect(await names()).toEqual(['first', 'second']);
    await expect(few.snapshot(owner.sandboxId)).rejects.toMatchObject({
      message: `Sandbox "${owner.sandboxId}" has 2 snapshots with names already, as many as LONGSHORE_SNAPSHOT_LIMIT allows. Remove one of them first.`,
    });
    await expect(few.snapshot(owner.sandboxId, { name: '../x' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await few.destroy(owner.sandboxId);
    for (const { snapshotId } of await few.snapshots()) await few.removeSnapshot(snapshotId);
    expect(await volumes()).toEqual([]);
  });

  test('has a name of its own: of two that two workers make at once under one name, one is made, and nothing is left of the other', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    await parts.sandboxes.stop(owner.sandboxId);
    const made = await Promise.allSettled([parts.sandboxes, parts.another()].map((worker) => worker.snapshot(owner.sandboxId, { name: 'both' })));
    const refused = made.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
    expect(refused.map(({ message }) => message)).toEqual(['name: the sandbox has a snapshot "both" already. Use another name, or remove that one first']);
    const [kept, ...others] = await parts.sandboxes.snapshots({ sandboxId: owner.sandboxId });
    expect([kept?.name, others]).toEqual(['both', []]);
    expect((await volumes()).toSorted()).toEqual([parts.containerName(owner.sandboxId), `snapshot.${parts.installation}-${kept?.snapshotId}`].toSorted());
    await parts.sandboxes.removeSnapshot(kept!.snapshotId);
    await parts.sandboxes.destroy(owner.sandboxId);
  });

  test('that was cut off, is too old, or has lost its row is reaped with its volumes', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    await parts.sandboxes.stop(owner.sandboxId);
    const { snapshotId } = await parts.sandboxes.snapshot(owner.sandboxId, { name: 'kept' });
    const gone = await parts.sandboxes.snapshot(owner.sandboxId, { name: 'gone' });
    await parts.store.snapshots.remove(gone.snapshotId);
    await parts.sandboxes.snapshot(owner.sandboxId);
    await parts.store.snapshots.insert({ snapshotId: 'snap_half', ...owner, hostId: 'test-host', volumeName: 'none', options: {} });
    const strict = parts.another({ reapGraceMs: -60_000, config: { ...config(), LONGSHORE_SNAPSHOT_DAYS: 1e-9 } });
    await strict.reap();
    expect((await parts.store.snapshots.list({})).map((row) => row.snapshotId)).toEqual([snapshotId]);
    expect((await volumes()).toSorted()).toEqual([parts.containerName(owner.sandboxId), `snapshot.${parts.installation}-${snapshotId}`].toSorted());
    await parts.sandboxes.removeSnapshot(snapshotId);
    await parts.sandboxes.destroy(owner.sandboxId);
  });

  test('is what a sandbox begins with whose container and volume are gone, and the note says from when', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'old');
    const { createdAt } = await parts.sandboxes.snapshot(owner.sandboxId);
    await handle.writeFile('/home/user/kept', 'new');
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).remove({ force: true });
    await parts.docker.getVolume(parts.containerName(owner.sandboxId)).remove();
    const opened = await parts.another().open(owner, {});
    expect(opened.lost).toBe(
      `The sandbox was started anew: its container is gone. Its files are gone as well; it starts with those of its snapshot of ${createdAt}. Which commands were cut off is not known.`,
    );
    expect(await output(opened.handle, 'cat kept')).toBe('old');
    await parts.sandboxes.destroy(owner.sandboxId);
    expect(await volumes()).toEqual([]);
  });

  test('of nothing is refused', async () => {
    await expect(parts.sandboxes.snapshot('sbx_none')).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
    await expect(parts.sandboxes.restore('snap_none', parts.newOwner())).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
  });
});

describe('a fork', () => {
  test('begins with the files of its source, and goes its own way', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'source');
    const forks = await parts.sandboxes.fork(owner.sandboxId, 2);
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('running');
    for (const sandboxId of forks) {
      const opened = await parts.sandboxes.open({ sandboxId, tenantId: owner.tenantId }, {});
      expect(await output(opened.handle, `cat kept; echo; echo ${sandboxId} > kept; cat kept`)).toBe(`source\n${sandboxId}`);
    }
    expect(await output(handle, 'cat kept')).toBe('source');
    await expect(parts.sandboxes.fork(owner.sandboxId, 0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await parts.store.snapshots.list({})).toEqual([]);
    for (const sandboxId of [owner.sandboxId, ...forks]) await parts.sandboxes.destroy(sandboxId);
    expect({ volumes: await volumes(), copies: await copies() }).toEqual({ volumes: [], copies: [] });
  });
});

describeWithGvisor('with memory', () => {
  const GVISOR = { runtime: 'runsc' } as const;
  const COUNTER = 'mkfifo gate; x=$RANDOM; echo $$ $x > begun; read line < gate; echo $line $$ $x';

  test('the processes of the source go on in each fork, and in the source itself', async () => {
    const owner = parts.newOwner();
    const able = parts.another({ config: { ...config(), LONGSHORE_COPY_CHECKPOINTS: 'yes' } });
    const { handle } = await able.open(owner, GVISOR);
    await handle.run('echo kept > /tmp/memory');
    const running = handle.run(COUNTER, { execId: 'call_wait', timeoutMs: 0 });
    await until(async () => handle.fileExists('/home/user/begun'), 'the command waits');
    const begun = await output(handle, 'cat begun');
    const forks = await able.fork(owner.sandboxId, 2);
    expect(await able.tier(owner.sandboxId)).toBe('running');
    for (const sandboxId of forks) {
      const opened = await able.open({ sandboxId, tenantId: owner.tenantId }, GVISOR);
      expect(opened.lost).toBeUndefined();
      expect(await output(opened.handle, 'cat /tmp/memory')).toBe('kept');
      await opened.handle.run(`echo ${sandboxId} > gate`);
      expect((await opened.handle.attach('call_wait')).stdout.text).toBe(`${sandboxId} ${begun}\n`);
    }
    await handle.run('echo source > gate');
    expect((await running).stdout.text).toBe(`source ${begun}\n`);

    await able.hibernate(owner.sandboxId);
    const { snapshotId, memory } = await able.snapshot(owner.sandboxId);
    expect({ memory, tier: await able.tier(owner.sandboxId) }).toEqual({ memory: true, tier: 'hibernated' });
    const copy = parts.newOwner();
    expect(await output((await able.restore(snapshotId, copy)).handle, 'cat /tmp/memory')).toBe('kept');
    // A host that may not copy checkpoints begins with the files, and says what was cut off.
    const cold = parts.newOwner();
    const restored = await parts.sandboxes.restore(snapshotId, cold);
    expect(await output(restored.handle, 'cat begun; ls /tmp')).toBe(begun);
    for (const sandboxId of [owner.sandboxId, copy.sandboxId, cold.sandboxId, ...forks]) await able.destroy(sandboxId);
    expect({ volumes: await volumes(), copies: await copies() }).toEqual({ volumes: [], copies: [] });
  });
});
