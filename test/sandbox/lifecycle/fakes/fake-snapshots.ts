import type { SandboxRow, SnapshotRow } from '../../../../src/store/sandbox-rows.ts';
import type { SnapshotRows } from '../../../../src/store/snapshots.ts';

/** Rows of snapshots, beside the rows of a fake database. They are not put into the blob store. */
export function fakeSnapshots(rows: Map<string, SandboxRow>): SnapshotRows & { readonly all: Map<string, SnapshotRow> } {
  const all = new Map<string, SnapshotRow>();
  const ageMs = ({ createdAt }: SnapshotRow) => Date.now() - Date.parse(createdAt);
  const isGone = (sandboxId: string) => (rows.get(sandboxId)?.state ?? 'destroyed') === 'destroyed';
  return {
    all,
    insert: async (row) => void all.set(row.snapshotId, { ...row, ready: false, createdAt: new Date(Date.now()).toISOString() }),
    finish: async (snapshotId, { name, memoryVolume }) => {
      const row = all.get(snapshotId);
      if (row === undefined) return undefined;
      const isTaken = name !== undefined && [...all.values()].some((one) => one.sandboxId === row.sandboxId && one.name === name);
      if (isTaken) return 'taken';
      const finished = { ...row, ready: true, ...(name !== undefined && { name }), ...(memoryVolume !== undefined && { memoryVolume }) };
      all.set(snapshotId, finished);
      return finished;
    },
    get: async (snapshotId) => all.get(snapshotId),
    list: async ({ sandboxId, tenantId, hostId }) =>
      [...all.values()].filter(
        (row) => (sandboxId ?? row.sandboxId) === row.sandboxId && (tenantId ?? row.tenantId) === row.tenantId && (hostId ?? row.hostId) === row.hostId,
      ),
    remove: async (snapshotId) => {
      const row = all.get(snapshotId);
      all.delete(snapshotId);
      return row;
    },
    over: async ({ maxAgeMs, unfinishedMs }) =>
      [...all.values()].filter((row) => (row.ready ? row.name === undefined && (ageMs(row) > maxAgeMs || isGone(row.sandboxId)) : ageMs(row) > unfinishedMs)),
    unstored: async () => [],
    beginStoring: async () => undefined,
    keepStoring: async () => undefined,
    store: async () => false,
  };
}
