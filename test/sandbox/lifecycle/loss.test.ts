import { uploadAssets } from '../../../src/sandbox/api/upload-assets.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from './support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

describe('a container that died', () => {
  test('fails the running command with SANDBOX_LOST, is rebuilt on the same files, and says which commands were cut off', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    await handle.run('true', { execId: 'call_done' });
    let seen = '';
    const running = handle.run('echo begun; sleep 1000', { execId: 'call_cut', onStdout: (chunk) => (seen += chunk.toString()), timeoutMs: 0 });
    const outcome = running.then(
      () => 'ended',
      (error: { code: string }) => error.code,
    );
    await until(async () => seen.includes('begun'), 'the command has begun');
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).kill();
    expect(await outcome).toBe('SANDBOX_LOST');
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('lost');
    await expect(handle.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('lost');

    const { handle: rebuilt, lost } = await parts.sandboxes.open(owner, {});
    expect(lost).toContain('exit code 137');
    expect(lost).toContain('`echo begun; sleep 1000` (call_cut)');
    expect(lost).not.toContain('call_done');
    expect(await output(rebuilt, 'cat kept')).toBe('yes');
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('running');
    expect((await parts.sandboxes.open(owner, {})).lost).toBeUndefined();
    expect(await output(handle, 'cat kept')).toBe('yes');
  });

  test('is rebuilt when it is gone altogether', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).remove({ force: true });
    const rebuilt = await parts.sandboxes.open(owner, {});
    expect(rebuilt.lost).toContain('its container is gone');
    expect(await output(rebuilt.handle, 'cat kept')).toBe('yes');
  });

  test('whose volume is gone too says that the files are lost, and is given its assets again', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    const assets = [{ from: 'package.json', to: 'given/package.json' }];
    await uploadAssets(handle, assets);
    await handle.writeFile('given/package.json', 'mine');
    await uploadAssets(handle, assets);
    expect(await output(handle, 'cat given/package.json')).toBe('mine');
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).remove({ force: true });
    await parts.docker.getVolume(parts.containerName(owner.sandboxId)).remove();
    const before = Date.parse((await parts.store.sandboxes.get(owner.sandboxId))?.lastUsedAt ?? '');
    const rebuilt = await parts.sandboxes.open(owner, {});
    expect(rebuilt.lost).toContain('files are gone');
    await uploadAssets(rebuilt.handle, assets);
    expect(await output(rebuilt.handle, 'cat given/package.json')).toContain('"name": "longshore"');
    const filesLostAt = (await parts.store.sandboxes.get(owner.sandboxId))?.filesLostAt;
    expect(Date.parse(filesLostAt ?? '')).toBeGreaterThan(before);
    expect((await parts.sandboxes.open(owner, {})).lost).toBeUndefined();
    expect((await parts.store.sandboxes.get(owner.sandboxId))?.filesLostAt).toBe(filesLostAt);
  });

  test('is rebuilt once by openers that race', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).kill();
    const workers = [parts.sandboxes, parts.another(), parts.another()];
    const opened = await Promise.all(Array.from({ length: 6 }, (_, index) => workers[index % 3]!.open(owner, {})));
    for (const { handle } of opened) expect(await output(handle, 'cat kept')).toBe('yes');
    expect(opened.some(({ lost }) => lost !== undefined)).toBe(true);
    expect(await parts.store.sandboxes.get(owner.sandboxId)).toMatchObject({ state: 'running' });
  });
});

describe('the reaper', () => {
  test('removes what no row owns, finishes what a destroy began, marks the dead, and touches nothing else', async () => {
    const reaper = parts.another({ reapGraceMs: 0 });
    const [alive, dead, forgotten, halfDestroyed] = [parts.newOwner(), parts.newOwner(), parts.newOwner(), parts.newOwner()];
    for (const owner of [alive, dead, forgotten, halfDestroyed]) await parts.sandboxes.open(owner, {});
    await using strangers = await createTestSandboxes();
    const stranger = strangers.newOwner();
    await strangers.sandboxes.open(stranger, {});

    await parts.docker.getContainer(parts.containerName(dead.sandboxId)).kill();
    await parts.store.sandboxes.remove(forgotten.sandboxId);
    const row = (await parts.store.sandboxes.get(halfDestroyed.sandboxId))!;
    await parts.store.sandboxes.change(row.sandboxId, row.generation, { state: 'destroyed' });

    const orphans = [parts.containerName(forgotten.sandboxId), parts.containerName(halfDestroyed.sandboxId)].toSorted();
    expect(await parts.sandboxes.reap()).toMatchObject({ removedContainers: [], removedVolumes: [], lost: [dead.sandboxId] });
    const reaped = await reaper.reap();
    expect(reaped.removedContainers.toSorted()).toEqual(orphans);
    expect(reaped.removedVolumes.toSorted()).toEqual(orphans);
    expect(await reaper.reap()).toEqual({ removedContainers: [], removedVolumes: [], lost: [] });

    expect(await parts.sandboxes.tier(alive.sandboxId)).toBe('running');
    expect(await parts.sandboxes.tier(dead.sandboxId)).toBe('lost');
    expect(await strangers.sandboxes.tier(stranger.sandboxId)).toBe('running');
  });
});
