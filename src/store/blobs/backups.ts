import type { BackupState } from '../../contracts/checkpoints/backup.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import type { Database } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';
import type { StoredBlob } from './blob-store.ts';

/** A backup of the home directory of a sandbox: the files of one checkpoint. */
export interface SandboxBackup {
  /** When the files were so. ISO 8601. */
  at: string;
  files: number;
  /** Of the files; the blobs are packed. */
  bytes: number;
  /** The oldest first. All are needed. */
  parts: BackupPart[];
}
/** A blob with the checkpoints after `since`, up to the one with the number `to`, which was made `at` that time. */
export interface BackupPart {
  since: number;
  to: number;
  at: string;
  /** Bytes of content in it, not packed. */
  bytes: number;
  blob: StoredBlob;
}

/** A sandbox of which a backup is to be made. */
export interface DueBackup {
  sandboxId: string;
  state: Exclude<SandboxTier, 'none'>;
  /** The agent of its conversation. */
  agentId?: string;
}
/** A try at a backup. Other workers leave the sandbox alone until it is over, or was not prolonged. */
export interface BackupTry {
  sandboxId: string;
  /** Time of the database. */
  beganAt: string;
}
export interface BackupTotals {
  /** Sandboxes that have a backup, and the bytes of its blobs. */
  backups: number;
  bytes: number;
  /** Sandboxes with files of a turn that are not backed up yet, and those of them whose last try failed. */
  due: number;
  failing: number;
  /** How long ago the files were last found backed up of which that was the longest ago, among those that are due. */
  oldestSeconds: number;
}

/** What rows of sandboxes say about backups. */
export interface BackupRows {
  /** Says that a turn has ended that may have changed files. Without effect where no backups are made. */
  want(conversationId: string): Promise<void>;
  /** Sandboxes of a host of which a backup is to be made now, the one that has waited for the longest first. */
  due(hostId: string): Promise<DueBackup[]>;
  /** Undefined when another worker has begun. */
  begin(sandboxId: string): Promise<BackupTry | undefined>;
  prolong(attempt: BackupTry): Promise<void>;
  /**
   * Ends a try: stores a backup in place of the one whose newest blob is `before`, or that nothing has changed since then. False, and nothing is stored, when the
   * container is not the one of the row any more, or the backup another one.
   */
  finish(attempt: BackupTry, container: { fence: number }, change: { before: string | undefined; backup?: SandboxBackup }): Promise<boolean>;
  /** Ends a try that has failed; it is repeated after so many milliseconds. */
  fail(attempt: BackupTry, problem: string, retryAfterMs: number): Promise<void>;
  /** Ends a try that was given up and is nobody's failure. Others begin after so many milliseconds. */
  release(attempt: BackupTry, afterMs: number): Promise<void>;
  /** Removes the backup from the row and returns what it had. */
  drop(sandboxId: string): Promise<SandboxBackup | undefined>;
  /** What is still to be done for a sandbox: since when, and why the last try failed. */
  waiting(sandboxId: string): Promise<{ dueAt?: string; problem?: string }>;
  /** The blobs that rows name: of all backups, archives and snapshots. */
  blobIds(): Promise<string[]>;
  totals(): Promise<BackupTotals>;
}

/** A try that is not prolonged for so long has died. */
const LEASE = `interval '1 minute'`;

const WANT = `update sandboxes set backup_due_at = clock_timestamp() where conversation_id = $1 and (options->>'backup') is not null and state <> 'destroyed'`;

/** One that rests is woken for the files of a turn: once, and not again and again while the blob store fails. A paused one stays as it is. */
const DUE = `select sandbox_id, sandboxes.state, agent_id from sandboxes left join conversations using (conversation_id)
  where host_id = $1 and (options->>'backup') is not null and coalesce(backup_not_before < clock_timestamp(), true) and (
    backup_due_at is not null and (sandboxes.state = 'running' or conversations.state is distinct from 'paused'
      and (sandboxes.state = 'frozen' and not paused or sandboxes.state in ('hibernated', 'stopped') and backup_problem is null))
    or sandboxes.state = 'running' and case options->>'backup' when 'turn' then false
      else coalesce(backup_checked_at, sandboxes.created_at) < clock_timestamp() - (options->>'backup')::float8 * interval '1 millisecond' end)
  order by coalesce(backup_checked_at, sandboxes.created_at) limit 100`;

const BEGIN = `update sandboxes set backup_not_before = clock_timestamp() + ${LEASE}
  where sandbox_id = $1 and state <> 'destroyed' and coalesce(backup_not_before < clock_timestamp(), true) returning clock_timestamp()::text as began_at`;
const PROLONG = `update sandboxes set backup_not_before = clock_timestamp() + ${LEASE} where sandbox_id = $1`;

const NEWEST = `backup->'parts'->-1->'blob'->>'blobId'`;
/** A turn that has ended since the try began is due still. */
const FINISH = `update sandboxes set backup = coalesce($5::json, backup), backup_checked_at = $2::timestamptz, backup_problem = null, backup_not_before = null,
    backup_due_at = case when backup_due_at > $2::timestamptz then backup_due_at end
  where sandbox_id = $1 and fence = $3 and (${NEWEST}) is not distinct from $4 and state <> 'destroyed' returning 1`;
/** Unless a try that began later has succeeded. */
const FAIL = `update sandboxes set backup_problem = $2, backup_not_before = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where sandbox_id = $1 and coalesce(backup_checked_at <= $4::timestamptz, true)`;
const RELEASE = `update sandboxes set backup_not_before = clock_timestamp() + $2::float8 * interval '1 millisecond' where sandbox_id = $1`;
const DROP = `with before as (select sandbox_id, backup from sandboxes where sandbox_id = $1 and backup is not null for update)
  update sandboxes set backup = null from before where sandboxes.sandbox_id = before.sandbox_id returning before.backup`;
const BLOB_IDS = `select part->'blob'->>'blobId' as blob_id from sandboxes cross join json_array_elements(backup->'parts') part where backup is not null and state <> 'destroyed'
  union all select blob_id from sandboxes cross join unnest(array[archive->'files'->>'blobId', archive->'memory'->>'blobId']) blob_id
    where state = 'archived' and blob_id is not null
  union all select blob_id from snapshots cross join unnest(array[stored->'files'->>'blobId', stored->'memory'->>'blobId']) blob_id where blob_id is not null`;
/** All files of an archived sandbox are in the blob store. It is due again when it is back. */
const IS_DUE = "backup_due_at is not null and sandboxes.state <> 'archived'";
const TOTALS = `select count(*) filter (where backup is not null)::float8 as backups,
    coalesce(sum((select sum((part->'blob'->>'bytes')::float8) from json_array_elements(backup->'parts') part)), 0) as bytes,
    count(*) filter (where ${IS_DUE})::float8 as due,
    count(*) filter (where ${IS_DUE} and backup_problem is not null)::float8 as failing,
    coalesce(max(extract(epoch from clock_timestamp() - coalesce(backup_checked_at, created_at))) filter (where ${IS_DUE}), 0)::float8 as oldest_seconds
  from sandboxes where (options->>'backup') is not null and state <> 'destroyed'`;

/** What the status of a conversation says about backups. @param conversation its id, in SQL */
export function backupState(conversation: string): string {
  return `select json_strip_nulls(json_build_object('at', backup->>'at', 'bytes', (backup->>'bytes')::float8, 'files', (backup->>'files')::float8,
      'due', case when ${IS_DUE} then true end, 'failing', case when backup_problem is not null and sandboxes.state <> 'archived' then true end))
    from sandboxes where conversation_id = ${conversation} and (options->>'backup') is not null and sandboxes.state <> 'destroyed'`;
}

/** Absent while there is nothing to say. */
export function toBackupState(row: BackupState | null): { backup?: BackupState } {
  return row && Object.keys(row).length > 0 ? { backup: row } : {};
}

export function createBackups({ database }: { database: Database }): BackupRows {
  const run = async (name: string, sql: string, values: (string | number | null)[]) => void (await database.query(`backups.${name}`, sql, values));
  return {
    want: (conversationId) => run('want', WANT, [conversationId]),
    async due(hostId) {
      const rows = await database.query<{ sandbox_id: string; state: DueBackup['state']; agent_id: string | null }>('backups.due', DUE, [hostId]);
      return rows.map((row) => ({ sandboxId: row.sandbox_id, state: row.state, ...(row.agent_id !== null && { agentId: row.agent_id }) }));
    },
    async begin(sandboxId) {
      const [row] = await database.query<{ began_at: string }>('backups.begin', BEGIN, [sandboxId]);
      return row && { sandboxId, beganAt: row.began_at };
    },
    prolong: ({ sandboxId }) => run('prolong', PROLONG, [sandboxId]),
    async finish({ sandboxId, beganAt }, { fence }, { before, backup }) {
      const values = [sandboxId, beganAt, fence, before ?? null, backup === undefined ? null : toJsonText(backup)];
      return (await database.query('backups.finish', FINISH, values)).length > 0;
    },
    fail: ({ sandboxId, beganAt }, problem, retryAfterMs) => run('fail', FAIL, [sandboxId, problem, retryAfterMs, beganAt]),
    release: ({ sandboxId }, afterMs) => run('release', RELEASE, [sandboxId, afterMs]),
    async drop(sandboxId) {
      const [row] = await database.query<{ backup: SandboxBackup }>('backups.drop', DROP, [sandboxId]);
      return row?.backup;
    },
    async waiting(sandboxId) {
      const sql = "select backup_due_at, backup_problem from sandboxes where sandbox_id = $1 and state <> 'archived'";
      const [row] = await database.query<{ backup_due_at: Date | null; backup_problem: string | null }>('backups.waiting', sql, [sandboxId]);
      return { ...(row?.backup_due_at && { dueAt: row.backup_due_at.toISOString() }), ...(row?.backup_problem && { problem: row.backup_problem }) };
    },
    blobIds: async () => (await database.query<{ blob_id: string }>('backups.blobIds', BLOB_IDS, [])).map((row) => row.blob_id),
    async totals() {
      const [row] = await database.query<Omit<BackupTotals, 'oldestSeconds'> & { oldest_seconds: number }>('backups.totals', TOTALS, []);
      const { oldest_seconds: oldestSeconds, ...totals } = row ?? { backups: 0, bytes: 0, due: 0, failing: 0, oldest_seconds: 0 };
      return { ...totals, oldestSeconds };
    },
  };
}
