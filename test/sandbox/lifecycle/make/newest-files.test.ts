import { Readable } from 'node:stream';
import type { DockerContext } from '../../../../src/sandbox/lifecycle/base/docker-context.ts';
import { newestFiles } from '../../../../src/sandbox/lifecycle/make/newest-files.ts';
import { Meter } from '../../../../src/store/blobs/blob-store.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';

const OF_ROW = { sandboxId: 'sbx_1', tenantId: 'one', fence: 1, containerName: 'c', options: {}, createdAt: '2026-11-29T10:00:00.000Z' };

/** A host that has a snapshot of that time by the clock of Postgres, and can bring back any backup. */
function context(createdAt: string, { removed = [] as string[], onCopy = () => {} } = {}): DockerContext {
  const snapshot = { snapshotId: 'snap_1', sandboxId: 'sbx_1', tenantId: 'one', ready: true, hostId: 'here', volumeName: 'snapshot', createdAt };
  const found = ({ tenantId = 'one' } = {}) => (removed.length === 0 && tenantId === 'one' ? [snapshot] : []);
  const jobs = { copy: async () => onCopy(), bringBack: async (content: Readable) => void (await content.toArray()) };
  return {
    hostId: 'here',
    installation: 'test',
    snapshots: { list: async (filter: { tenantId?: string }) => found(filter), get: async () => found()[0] },
    blobs: { get: () => Readable.from([]) },
    engine: {
      hasQuotas: async () => false,
      volumeExists: async () => true,
      removeVolume: async (volume: string) => void removed.push(volume),
      copies: { createVolume: async () => undefined, jobs: () => jobs },
    },
  } as unknown as DockerContext;
}

test.each([
  ['an hour behind', '2026-11-29T11:00:00.000Z'],
  ['right', '2026-11-29T12:00:00.000Z'],
  ['an hour ahead', '2026-11-29T13:00:00.000Z'],
])('of a snapshot and a backup, the newer one is taken, also where the clock of the host is %s', async (_what, at) => {
  const blob = { blobId: 'blob', bytes: 0, sha256: new Meter().sha256() };
  const backup = { at, files: 1, bytes: 1, parts: [{ since: 0, to: 1, at, bytes: 1, blob }] };
  const row = { ...OF_ROW, backup, backedUpAt: '2026-11-29T12:00:00.000Z' } as unknown as SandboxRow;
  expect(await newestFiles(context('2026-11-29T11:30:00.000Z'), row)).toMatchObject({ filesOf: { what: 'backup', at } });
  expect(await newestFiles(context('2026-11-29T12:30:00.000Z'), row)).toMatchObject({ filesOf: { what: 'snapshot' } });
});

test('a snapshot that is removed while it is read is not taken for one without files; the volume that the engine has made again for the copy goes', async () => {
  const blob = { blobId: 'blob', bytes: 0, sha256: new Meter().sha256() };
  const at = '2026-11-29T12:00:00.000Z';
  const backup = { at, files: 1, bytes: 1, parts: [{ since: 0, to: 1, at, bytes: 1, blob }] };
  const row = { ...OF_ROW, backup, backedUpAt: at } as unknown as SandboxRow;
  const removed: string[] = [];
  const raced = context('2026-11-29T12:30:00.000Z', { removed, onCopy: () => void removed.push('the row') });
  expect(await newestFiles(raced, row)).toMatchObject({ filesOf: { what: 'backup', at } });
  expect(removed).toContain('snapshot');
});

test.each([
  ['of another tenant', { tenantId: 'another' }],
  ['that is older than the sandbox', { createdAt: '2026-11-29T11:45:00.000Z' }],
])('a snapshot %s, of an earlier sandbox with the same id, is not taken for one of its files', async (_what, change) => {
  const row = { ...OF_ROW, ...change } as unknown as SandboxRow;
  expect(await newestFiles(context('2026-11-29T11:30:00.000Z'), row)).toBeUndefined();
});
