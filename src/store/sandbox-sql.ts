import type { JsonObject } from '../contracts/json.ts';
import type { SandboxBackup } from './blobs/backups.ts';
import type { SandboxArchive, SandboxRow, SandboxState } from './sandbox-rows.ts';

/** Columns of the table `sandboxes` that `toSandbox` reads. */
export const SANDBOX_COLUMNS =
  'sandbox_id, conversation_id, tenant_id, generation, fence, state, host_id, container_name, container_id, volume_name, options, files_lost_at, expires_at, archive, backup, backup_checked_at, last_used_at, coalesce(extract(epoch from clock_timestamp() - case when isfinite(last_used_at) then last_used_at end)::float8 * 1000, 0) as idle_ms, created_at, pool_key, pool_slot, paused, extract(epoch from clock_timestamp() - paused_at)::float8 * 1000 as paused_ms, promised_on, promised_for';

/** pg returns numbers for the two infinities of Postgres. */
type SqlTime = Date | number;

export interface SandboxSqlRow {
  sandbox_id: string;
  conversation_id: string | null;
  tenant_id: string;
  generation: number;
  fence: number;
  state: SandboxState;
  host_id: string;
  container_name: string;
  container_id: string | null;
  volume_name: string;
  options: JsonObject;
  files_lost_at: SqlTime | null;
  expires_at: SqlTime | null;
  archive: SandboxArchive | null;
  backup: SandboxBackup | null;
  backup_checked_at: Date | null;
  last_used_at: SqlTime;
  idle_ms: number;
  created_at: SqlTime;
  pool_key: string | null;
  pool_slot: number | null;
  paused: boolean;
  paused_ms: number | null;
  promised_on: string | null;
  promised_for: 'wake' | 'rest' | null;
}

export function toSandbox(row: SandboxSqlRow): SandboxRow {
  return {
    sandboxId: row.sandbox_id,
    ...(row.conversation_id !== null && { conversationId: row.conversation_id }),
    tenantId: row.tenant_id,
    generation: row.generation,
    fence: row.fence,
    state: row.state,
    hostId: row.host_id,
    containerName: row.container_name,
    ...(row.container_id !== null && { containerId: row.container_id }),
    volumeName: row.volume_name,
    options: row.options,
    ...(row.files_lost_at !== null && { filesLostAt: toIso(row.files_lost_at) }),
    ...(row.expires_at !== null && { expiresAt: toIso(row.expires_at) }),
    ...(row.archive !== null && { archive: row.archive }),
    ...(row.backup !== null && backupOf(row.backup, row.backup_checked_at)),
    ...(row.paused && pauseOf(row)),
    ...(row.promised_on !== null && row.promised_for !== null && { promised: { hostId: row.promised_on, for: row.promised_for } }),
    lastUsedAt: toIso(row.last_used_at),
    idleMs: row.idle_ms,
    createdAt: toIso(row.created_at),
    ...(row.pool_key !== null && { pool: { key: row.pool_key, ...(row.pool_slot !== null && { slot: row.pool_slot }) } }),
  };
}

const backupOf = (backup: SandboxBackup, checkedAt: Date | null) => ({ backup, ...(checkedAt !== null && { backedUpAt: toIso(checkedAt) }) });

const pauseOf = ({ paused_ms: ms }: SandboxSqlRow) => ({ paused: true, ...(ms !== null && { pausedMs: ms }) });

const LATEST = new Date(8.64e15);
const EARLIEST = new Date(-8.64e15);

/** A time outside of JavaScript's range becomes the nearest one inside: one row with such a time must not prevent reading the others. */
function toIso(time: SqlTime): string {
  if (typeof time === 'number') return (time < 0 ? EARLIEST : LATEST).toISOString();
  return (Number.isNaN(time.getTime()) ? LATEST : time).toISOString();
}
