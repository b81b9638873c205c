import { loadConfig } from '../../../src/platform/config.ts';
import { createTestSandboxes, output, until } from '../../sandbox/lifecycle/support.ts';
import { LOST, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';

const SECOND = 'second';
const CHECK = 'sha256sum -c sum';

testWithTwoEngines(
  titled('a snapshot outlives its engine: it is restored on another one, and a sandbox of the lost host begins there with the files of its newest snapshot'),
  async () => {
    await using engine = await secondEngine();
    await using parts = await createTestSandboxes({ config: { ...LOST, LONGSHORE_HOST_ID: 'first' } });
    const { store, installation } = parts;
    const on = { ...loadConfig(), ...LOST, LONGSHORE_INSTALLATION: installation, LONGSHORE_HOST_ID: SECOND, DOCKER_HOST: engine.host };
    const second = parts.another({ config: on });
    await using _kept = await parts.sandboxes.keepHost!();
    {
      await using _keptToo = await second.keepHost!();
      const [owner, stays] = [parts.newOwner(), parts.newOwner()];
      const { handle } = await second.open(owner, {});
      await handle.run('head -c 6000000 /dev/urandom > bytes; sha256sum bytes > sum; echo old > kept');
      const { snapshotId, stored, hostId, createdAt } = await second.snapshot(owner.sandboxId, { name: 'before' });
      expect({ stored, hostId }).toEqual({ stored: true, hostId: SECOND });
      await handle.run('echo new > kept');

      const live = await parts.sandboxes.restore(snapshotId, stays);
      expect(await output(live.handle, `${CHECK}; cat kept`)).toBe('bytes: OK\nold');
      await parts.sandboxes.destroy(stays.sandboxId);

      await _keptToo[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
      await engine.end('SIGKILL');
      const copies = [parts.newOwner(), parts.newOwner()];
      for (const copy of copies) expect(await output((await parts.sandboxes.restore(snapshotId, copy)).handle, CHECK)).toBe('bytes: OK');

      await until(async () => (await store.hosts.lostSince(SECOND, { hostId: 'first', lostAfterMs: 30_000 })) !== undefined, 'the host is lost');
      const opened = await parts.sandboxes.open(owner, {});
      expect(opened.lost).toContain(`it starts with those of its snapshot of ${createdAt}.`);
      expect(await output(opened.handle, `${CHECK}; cat kept`)).toBe('bytes: OK\nold');

      for (const { sandboxId } of [owner, ...copies]) await parts.sandboxes.destroy(sandboxId);
      expect(await store.fleet.forget(SECOND, 30_000)).toBe(true);
      expect((await store.snapshots.list({})).map((row) => row.snapshotId)).toEqual([snapshotId]);
      await parts.sandboxes.removeSnapshot(snapshotId);
      expect({ blobs: await store.blobs.list(), snapshots: await store.snapshots.list({}) }).toEqual({ blobs: [], snapshots: [] });
    }
  },
  300_000,
);
