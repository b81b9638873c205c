import { isFailure } from '../../../../src/contracts/errors.ts';
import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import type { BlobStore } from '../../../../src/store/blobs/blob-store.ts';
import { createTestSandboxes, output, RUNTIMES, type TestSandboxes } from '../support.ts';

const KEEP = { keep: 1, signal: new AbortController().signal };

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

async function backUp(sandboxId: string, sandboxes = parts.sandboxes) {
  const attempt = (await parts.store.backups.begin(sandboxId))!;
  try {
    return await sandboxes.backUp!(attempt, KEEP);
  } finally {
    await parts.store.backups.release(attempt, 0);
  }
}
const backupOf = async (sandboxId: string) => (await parts.store.sandboxes.get(sandboxId))?.backup;
const blobIds = async () => (await parts.store.blobs.list()).map(({ blobId }) => blobId).toSorted();
const namedBlobs = async (sandboxId: string) => ((await backupOf(sandboxId))?.parts ?? []).map(({ blob }) => blob.blobId).toSorted();

/** As when the disk of a host is lost, and the host is not. */
async function loseVolume(sandboxId: string): Promise<void> {
  const { volumeName } = (await parts.store.sandboxes.get(sandboxId))!;
  await parts.docker.getContainer(parts.containerName(sandboxId)).remove({ force: true });
  await parts.docker.getVolume(volumeName).remove();
}

const FILL =
  'mkdir -p src empty; head -c 3000000 /dev/urandom > src/bytes; ln -s src/bytes link; ln src/bytes other; umask 077; echo text > src/secret; sha256sum src/* > sums';
const LOOK = 'sha256sum -c --quiet sums && find . -printf "%p %y %m %U %G %n %l\\n" | grep -v bash | sort';

describe.each(RUNTIMES)('in %s', (runtime) => {
  test('a volume that is lost comes back with the files of the newest backup, and says of when they are', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, { runtime });
    await handle.run(FILL);
    expect(await backUp(owner.sandboxId)).toBe('stored');
    const first = (await backupOf(owner.sandboxId))!;
    await handle.run('echo more > later; rm -r empty');
    expect(await backUp(owner.sandboxId)).toBe('stored');
    const backup = (await backupOf(owner.sandboxId))!;
    const sizes = [first, backup].map(({ parts: all }) => all.at(-1)!.blob.bytes);
    expect(sizes[1]!).toBeLessThan(sizes[0]! / 100);
    expect(backup).toMatchObject({ files: first.files + 1, parts: [first.parts[0], { since: 1, to: 2, at: backup.at }] });
    const before = await output(handle, LOOK);
    await handle.run('echo lost > lost');
    await loseVolume(owner.sandboxId);
    const { handle: again, lost } = await parts.sandboxes.open(owner, { runtime });
    expect(lost).toBe(
      `The sandbox was started anew: its container is gone. Its files are gone as well; it starts with those of its backup of ${backup.at}. Which commands were cut off is not known.`,
    );
    expect(await output(again, LOOK)).toBe(before);
    // What is the same as in the backup is not sent again.
    expect(await backUp(owner.sandboxId)).toBe('stored');
    const [kept, next, ...more] = (await backupOf(owner.sandboxId))!.parts;
    expect({ kept, next, more }).toEqual({ kept: first.parts[0], next: expect.objectContaining({ since: 1, to: 3 }), more: [] });
    expect(next!.blob.bytes).toBeLessThan(sizes[0]! / 100);
    await parts.sandboxes.destroy(owner.sandboxId);
    expect(await blobIds()).toEqual([]);
  });
});

test('while nothing has changed, nothing is sent', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.writeFile('a', 'a');
  expect(await backUp(owner.sandboxId)).toBe('stored');
  const before = await backupOf(owner.sandboxId);
  expect(await backUp(owner.sandboxId)).toBe('unchanged');
  expect(await backupOf(owner.sandboxId)).toEqual(before);
  expect(await blobIds()).toEqual(await namedBlobs(owner.sandboxId));
  await parts.sandboxes.destroy(owner.sandboxId);
});

test('what a newer backup does not need is removed, and the reaper leaves what a row names', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  for (let round = 0; round < 5; round += 1) {
    await handle.run('head -c 1000000 /dev/urandom > bytes');
    expect(await backUp(owner.sandboxId)).toBe('stored');
    expect(await blobIds()).toEqual(await namedBlobs(owner.sandboxId));
  }
  expect((await namedBlobs(owner.sandboxId)).length).toBeLessThan(4);
  await parts.another({ reapGraceMs: 0 }).reap();
  expect(await blobIds()).toEqual(await namedBlobs(owner.sandboxId));
  await parts.sandboxes.destroy(owner.sandboxId);
});

/** A blob store that fails in the middle. */
function failing(blobs: BlobStore): BlobStore {
  return {
    ...blobs,
    put: async (content) => {
      for await (const _chunk of content) break;
      throw Object.assign(new Error('away'), { code: 'EAWAY' });
    },
  };
}

test('when the blob store fails, the older backup holds', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.writeFile('a', 'first');
  await backUp(owner.sandboxId);
  const before = await backupOf(owner.sandboxId);
  await handle.run('echo second > a; head -c 9000000 /dev/urandom > bytes');
  const without = parts.another({ store: { ...parts.store, blobs: failing(parts.store.blobs) } });
  await expect(backUp(owner.sandboxId, without)).rejects.toThrow('away');
  expect(await backupOf(owner.sandboxId)).toEqual(before);
  expect(await backUp(owner.sandboxId)).toBe('stored');
  await loseVolume(owner.sandboxId);
  expect(await output((await parts.sandboxes.open(owner, {})).handle, 'cat a')).toBe('second');
  await parts.sandboxes.destroy(owner.sandboxId);
});

test('a container that was replaced meanwhile does not store its backup', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.writeFile('a', 'a');
  const { blobs, sandboxes: rows } = parts.store;
  const superseding: BlobStore = {
    ...blobs,
    async put(content) {
      const stored = await blobs.put(content);
      const row = (await rows.get(owner.sandboxId))!;
      await rows.change(owner.sandboxId, row.generation, { state: 'lost', fence: await rows.drawFence() });
      return stored;
    },
  };
  expect(await backUp(owner.sandboxId, parts.another({ store: { ...parts.store, blobs: superseding } }))).toBe('superseded');
  expect({ backup: await backupOf(owner.sandboxId), blobs: await blobIds() }).toEqual({ backup: undefined, blobs: [] });
  await parts.sandboxes.destroy(owner.sandboxId);
});

test('a backup that is damaged is not brought back, until it is dropped', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.writeFile('a', 'a');
  await backUp(owner.sandboxId);
  const { at, parts: stored } = (await backupOf(owner.sandboxId))!;
  const { blobId } = stored[0]!.blob;
  await parts.store.blobs.remove(blobId);
  await loseVolume(owner.sandboxId);
  await expect(parts.sandboxes.open(owner, {})).rejects.toMatchObject({
    code: 'BACKUP_DAMAGED',
    message: `The backup of sandbox "${owner.sandboxId}" of ${at} is not what was stored: it is not in the blob store. Bring blob "${blobId}" back and try again, or go on without its files: longshore sandbox drop-backup ${owner.sandboxId}.`,
  });
  await parts.store.backups.drop(owner.sandboxId);
  const { lost } = await parts.sandboxes.open(owner, {});
  expect(lost).toContain('Its files are gone as well; it starts empty.');
  await parts.sandboxes.destroy(owner.sandboxId);
});

test('an archived sandbox keeps its backup, and goes on from it when it is brought back', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.run('head -c 2000000 /dev/urandom > bytes');
  await backUp(owner.sandboxId);
  expect(await parts.sandboxes.archive(owner.sandboxId)).toBe('archived');
  const attempt = (await parts.store.backups.begin(owner.sandboxId))!;
  expect(await parts.sandboxes.backUp!(attempt, KEEP)).toBe('gone');
  await parts.store.backups.release(attempt, 0);
  await handle.writeFile('a', 'a');
  expect(await backUp(owner.sandboxId)).toBe('stored');
  const { parts: stored } = (await backupOf(owner.sandboxId))!;
  expect(stored.map(({ to }) => to)).toEqual([1, 2]);
  expect(stored[1]!.blob.bytes).toBeLessThan(100_000);
  await parts.sandboxes.destroy(owner.sandboxId);
  expect(await blobIds()).toEqual([]);
});

test('what a guest lays in the way does not stop it: links out of the home, pipes, files of holes, a file that grows', async () => {
  const owner = parts.newOwner();
  const { handle } = await parts.sandboxes.open(owner, {});
  await handle.run(
    'ln -s /etc/shadow shadow; ln -s .. up; mkfifo pipe; truncate -s 5G holes; echo end >> holes; mkdir closed; echo x > closed/x; chmod 0 closed',
  );
  const growing = grow(handle);
  await handle.run('until [ -s growing ]; do sleep 0.01; done');
  expect(await backUp(owner.sandboxId)).toBe('stored');
  await handle.kill('growing');
  await growing;
  const { parts: stored } = (await backupOf(owner.sandboxId))!;
  expect(stored[0]!.blob.bytes).toBeLessThan(50_000_000);
  await loseVolume(owner.sandboxId);
  const { handle: again } = await parts.sandboxes.open(owner, {});
  expect(await output(again, 'readlink shadow up; stat -c "%s" holes; tail -c 4 holes; test -s growing && echo grown; ls -d closed pipe 2>&1 | wc -l')).toBe(
    ['/etc/shadow', '..', '5368709124', 'end', 'grown', '2'].join('\n'),
  );
  await parts.sandboxes.destroy(owner.sandboxId);
});

async function grow(handle: SandboxHandle): Promise<void> {
  await handle.run('while true; do head -c 10000 /dev/urandom >> growing; done', { execId: 'growing' }).catch((error: unknown) => {
    if (!isFailure(error)) throw error;
  });
}
