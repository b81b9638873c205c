import type { JsonObject } from '../contracts/json.ts';
import { isDuplicate } from './database/database-failures.ts';
import type { Database } from './database/database.ts';
import { toJsonText } from './database/json-text.ts';
import type { SandboxArchive, SnapshotFilter, SnapshotRow } from './sandbox-rows.ts';

/** Copies of sandboxes. */
export interface SnapshotRows {
  insert(row: Omit<SnapshotRow, 'ready' | 'createdAt' | 'memoryVolume' | 'name'>): Promise<void>;
  /**
   * Marks it as complete, and gives it its name, which one that was never finished does not have. Undefined when it was removed meanwhile, `taken` when its sandbox has
   * a snapshot of that name already.
   */
  finish(snapshotId: string, parts: { name?: string; memoryVolume?: string }): Promise<SnapshotRow | 'taken' | undefined>;
  get(snapshotId: string): Promise<SnapshotRow | undefined>;
  /** The oldest first, including unfinished ones. */
  list(filter: SnapshotFilter): Promise<SnapshotRow[]>;
  /** Returns what it was; undefined when there is none. */
  remove(snapshotId: string): Promise<SnapshotRow | undefined>;
  /** Those of all hosts that are to be removed: without a name, and too old or of a sandbox that is gone; and those that were not finished in time. */
  over(after: { maxAgeMs: number; unfinishedMs: number }): Promise<SnapshotRow[]>;
  /** Those of a host that are neither in the blob store nor being stored. The oldest first. */
  unstored(hostId: string): Promise<SnapshotRow[]>;
  /** Begins to store one; others leave it alone for a minute, or for as long as it is said that it continues. Undefined when there is nothing to do. */
  beginStoring(snapshotId: string): Promise<SnapshotRow | undefined>;
  keepStoring(snapshotId: string): Promise<void>;
  /** Names its blobs. False when it was removed meanwhile, or has others. */
  store(snapshotId: string, parts: SandboxArchive): Promise<boolean>;
}

const COLUMNS = 'snapshot_id, sandbox_id, tenant_id, name, ready, host_id, volume_name, memory_volume, stored, options, created_at';

interface Row {
  snapshot_id: string;
  sandbox_id: string;
  tenant_id: string;
  name: string | null;
  ready: boolean;
  host_id: string;
  volume_name: string;
  memory_volume: string | null;
  stored: SandboxArchive | null;
  options: JsonObject;
  created_at: Date;
}

const INSERT = 'insert into snapshots (snapshot_id, sandbox_id, tenant_id, host_id, volume_name, options) values ($1, $2, $3, $4, $5, $6)';
const FINISH = `update snapshots set ready = true, name = $2, memory_volume = $3 where snapshot_id = $1 returning ${COLUMNS}`;
/** A try at storing one that is not continued for so long has died. */
const LEASE = `interval '1 minute'`;
const UNSTORED = 'ready and stored is null and coalesce(storing_until < clock_timestamp(), true)';
const BEGIN_STORING = `update snapshots set storing_until = clock_timestamp() + ${LEASE} where snapshot_id = $1 and ${UNSTORED} returning ${COLUMNS}`;
const KEEP_STORING = `update snapshots set storing_until = clock_timestamp() + ${LEASE} where snapshot_id = $1`;
const STORE = 'update snapshots set stored = $2, storing_until = null where snapshot_id = $1 and stored is null returning snapshot_id';
const REMOVE = `delete from snapshots where snapshot_id = $1 returning ${COLUMNS}`;
const isOlder = (ms: string) => `created_at < clock_timestamp() - ${ms}::float8 * interval '1 millisecond'`;
const OVER = `select ${COLUMNS} from snapshots n where case when ready
    then name is null and (${isOlder('$1')} or not exists (select from sandboxes s where s.sandbox_id = n.sandbox_id and s.state <> 'destroyed'))
    else ${isOlder('$2')} end`;
const LIST = `select ${COLUMNS} from snapshots where ($1::text is null or sandbox_id = $1) and ($2::text is null or tenant_id = $2)
  and ($3::text is null or host_id = $3) order by created_at, snapshot_id`;

export function createSnapshots({ database }: { database: Database }): SnapshotRows {
  return {
    async insert({ snapshotId, sandboxId, tenantId, hostId, volumeName, options }) {
      await database.query('snapshots.insert', INSERT, [snapshotId, sandboxId, tenantId, hostId, volumeName, toJsonText(options)]);
    },
    async finish(snapshotId, { name, memoryVolume }) {
      try {
        const [row] = await database.query<Row>('snapshots.finish', FINISH, [snapshotId, name ?? null, memoryVolume ?? null]);
        return row && toSnapshot(row);
      } catch (error) {
        if (isDuplicate(error)) return 'taken';
        throw error;
      }
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
      const [row] = await database.query<Row>('snapshots.remove', REMOVE, [snapshotId]);
      return row && toSnapshot(row);
    },
    async over({ maxAgeMs, unfinishedMs }) {
      return (await database.query<Row>('snapshots.over', OVER, [maxAgeMs, unfinishedMs])).map(toSnapshot);
    },
    async unstored(hostId) {
      const sql = `select ${COLUMNS} from snapshots where host_id = $1 and ${UNSTORED} order by created_at`;
      return (await database.query<Row>('snapshots.unstored', sql, [hostId])).map(toSnapshot);
    },
    async beginStoring(snapshotId) {
      const [row] = await database.query<Row>('snapshots.beginStoring', BEGIN_STORING, [snapshotId]);
      return row && toSnapshot(row);
    },
    async keepStoring(snapshotId) {
      await database.query('snapshots.keepStoring', KEEP_STORING, [snapshotId]);
    },
    async store(snapshotId, parts) {
      return (await database.query('snapshots.store', STORE, [snapshotId, toJsonText(parts)])).length > 0;
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
    ...(row.stored !== null && { stored: row.stored }),
    options: row.options,
    createdAt: row.created_at.toISOString(),
  };
}
