import { sandboxes as byId } from '../../src/sandbox.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import { expectNothingLeft, takeCensus } from './census.ts';
import { BACKEND, LONG_MS, counted, database, endAll, failEverywhere, log, nothingLeft, store, useFaults, worker } from './refusals.ts';

useFaults();

describe('what is refused in the middle leaves nothing', () => {
  let sandboxes: Sandboxes;
  let source: string;
  let there: string[];
  beforeAll(async () => {
    sandboxes = worker();
    source = 'sbx_source';
    const { handle } = await sandboxes.open({ sandboxId: source, tenantId: 'tenant' }, {});
    await handle.writeFile('kept', 'yes');
    there = await takeCensus(counted);
  });
  afterAll(async () => {
    await endAll(sandboxes);
    await sandboxes[Symbol.asyncDispose]();
    await nothingLeft('all of it');
  });
  /** Of the source only its state may differ. */
  const onlyTheSource = async (what: string) => {
    await sandboxes.wake(source);
    await expectNothingLeft(counted, there, what);
  };

  test(
    'a snapshot',
    async () => {
      const removeAll = async () => {
        for (const { snapshotId } of await store.snapshots.list({})) await sandboxes.removeSnapshot(snapshotId);
      };
      expect(await failEverywhere(() => sandboxes.snapshot(source), removeAll, { check: onlyTheSource, which: 'lasting' })).toBeGreaterThan(3);
    },
    LONG_MS,
  );

  test(
    'a fork',
    async () => {
      const destroyAll = async () => {
        for (const { sandboxId } of await store.sandboxes.list({})) {
          if (sandboxId === source) continue;
          await sandboxes.destroy(sandboxId);
          await store.sandboxes.remove(sandboxId);
        }
      };
      expect(await failEverywhere(() => sandboxes.fork(source, 1), destroyAll, { check: onlyTheSource, which: 'lasting' })).toBeGreaterThan(3);
    },
    LONG_MS,
  );

  test(
    'a restore',
    async () => {
      const { snapshotId } = await sandboxes.snapshot(source, { name: 'kept' });
      const withSnapshot = await takeCensus(counted);
      let restored: Awaited<ReturnType<typeof byId.restore>> | undefined;
      const where = { backend: BACKEND, databaseUrl: database.url, log, tenantId: 'tenant' };
      const rejected = await failEverywhere(
        async () => (restored = await byId.restore(snapshotId, where)),
        async () => {
          await restored?.destroy();
          await store.sandboxes.remove(restored?.sandboxId ?? '');
        },
        { check: (what) => expectNothingLeft(counted, withSnapshot, what), which: 'lasting' },
      );
      expect(rejected).toBeGreaterThan(3);
    },
    LONG_MS,
  );
});
