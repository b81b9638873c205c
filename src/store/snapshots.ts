import type { JsonObject } from '../contracts/json.ts';
import type { Database } from './database/database.ts';
import { toJsonText } from './database/json-text.ts';
import type { SnapshotRow } from './sandbox-rows.ts';
import type { Store } from './store.ts';

const COLUMNS = 'snapshot_id, sandbox_id, tenant_id, name, ready, host_id, volume_name, memory_volume, options, created_at';

interface Row {
  snapshot_id: string;
  sandbox_id: string;
  tenant_id: string;
  name: string | null;
  ready: boolean;
  host_id: string;
  volume_name: string;
  memory_volume: string | null;
  options: JsonObject;
  created_at: Date;
}

const INSERT = `insert into snapshots (snapshot_id, sandbox_id, tenant_id, name, host_id, volume_name, options)
  values ($1, $2, $3, $4, $5, $6, $7) on conflict (sandbox_id, name) do nothing returning snapshot_id`;
const FINISH = `update snapshots set ready = true, memory_volume = $2 where snapshot_id = $1 returning ${COLUMNS}`;
const LIST = `select ${COLUMNS} from snapshots where ($1::text is null or sandbox_id = $1) and ($2::text is null or tenant_id = $2)
  and ($3::text is null or host_id = $3) order by created_at, snapshot_id`;

export function createSnapshots({ database }: { database: Database }): Store['snapshots'] {
  return {
    async insert({ snapshotId, sandboxId, tenantId, name, hostId, volumeName, options }) {
      const values = [snapshotId, sandboxId, tenantId, name ?? null, hostId, volumeName, toJsonText(options)];
      return (await database.query('snapshots.insert', INSERT, values)).length > 0;
    },
    async finish(snapshotId, memoryVolume) {
      const [row] = await database.query<Row>('snapshots.finish', FINISH, [snapshotId, memoryVolume ?? null]);
      return row && toSnapshot(row);
    },
    async get(snapshotId) {
      const [row] = await database.query<Row>('snapshots.get', `select ${COLUMNS} from snapshots where snapshot_id = $1`, [snapshotId]);
      return row && toSnapshot(row);
    },
    async list({ sandboxId, tenantId, hostId }) {
      const rows = await database.query<Row>('snapshots.list', LIST, [sandboxId ?? null, tenantId ?? null, hostId ?? null]);
      return rows.map(toSnapshot);
    },
    async remove(snapshotId) {
      await database.query('snapshots.remove', 'delete from snapshots where snapshot_id = $1', [snapshotId]);
    },
  };
}

function toSnapshot(row: Row): SnapshotRow {
  return {
    snapshotId: row.snapshot_id,
    sandboxId: row.sandbox_id,
    tenantId: row.tenant_id,
    ...(row.name !== null && { name: row.name }),
    ready: row.ready,
    hostId: row.host_id,
    volumeName: row.volume_name,
    ...(row.memory_volume !== null && { memoryVolume: row.memory_volume }),
    options: row.options,
    createdAt: row.created_at.toISOString(),
  };
}
