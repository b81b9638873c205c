import type { AuditSource } from '../../contracts/audit.ts';
import {
  MEMORY_LIMITS,
  type MemoryChange,
  type MemoryFile,
  type MemoryFiles,
  type MemoryLimits,
  type MemoryOutcome,
  type MemoryPlace,
  type MemoryVersion,
  type MemoryWriter,
} from '../../contracts/memory/memory.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';
import { insertAudit } from '../service/audit-sql.ts';
import { sourceText } from '../service/audit.ts';

/** Text files that are kept between conversations. */
export interface MemoryRows extends MemoryFiles {
  /** With an `audit`, the change is noted in the audit log, in the same transaction. */
  write(place: MemoryPlace, change: MemoryChange, audit?: MemoryAudit): Promise<MemoryOutcome>;
  /** The versions of a path that are kept, the newest first. */
  history(place: MemoryPlace, path: string): Promise<MemoryVersion[]>;
  /** Removes the memory of a user, and the user from the versions elsewhere. Returns how many files there were. */
  eraseUser(tenantId: string, userId: string): Promise<number>;
}

/** Who makes a change, and the name under which the audit log has the memory. */
export interface MemoryAudit {
  source: AuditSource;
  target: string;
}

const IN_PLACE = 'tenant_id = $1 and scope = $2 and owner = $3';
const VERSION = 'path, version::float8 as version, bytes, at, writer_kind, writer_id, call_id, content is null as removed';

const LIST = `select ${VERSION}, left(split_part(left(content, 400), E'\\n', 1), 100) as first_line from memory_versions
  where ${IN_PLACE} and newest and content is not null and starts_with(path, $4) order by path`;
const READ = `select ${VERSION}, content from memory_versions
  where ${IN_PLACE} and path = $4 and content is not null and case when $5::bigint is null then newest else version = $5::bigint end`;
const HISTORY = `select ${VERSION} from memory_versions where ${IN_PLACE} and path = $4 order by version desc`;

const WRITE = (
  action: 'memory.write' | 'memory.delete',
) => `with done as (select * from longshore_write_memory($1, $2, $3, $4, $5, $6::bigint, $7::json, $8::json)),
  noted as (select * from done where outcome = 'written' and not is_repeated and $9::text is not null),
  audited as (${insertAudit({
    from: 'noted',
    action,
    tenant: '$1',
    target: '$10::text',
    details: `json_build_object('scope', $2::text, 'version', new_version, 'bytes', coalesce(octet_length($5), 0))`,
    source: '$9',
  })})
  select outcome, new_version::float8 as version, new_at as at from done`;

/** A writer whose user is erased is nobody any more. The files of the user go with their place. */
const ERASE = `with gone as (delete from memory_places where tenant_id = $1 and scope = 'user' and owner = $2),
  unnamed as (
    update memory_versions set writer_kind = 'erased', writer_id = '', call_id = null, writer_user = null
    where tenant_id = $1 and writer_user = $2 and not (scope = 'user' and owner = $2)
  )
  select count(*)::int as files from memory_versions where tenant_id = $1 and scope = 'user' and owner = $2 and newest and content is not null`;

interface Row {
  path: string;
  version: number;
  bytes: number;
  at: Date;
  writer_kind: MemoryWriter['kind'];
  writer_id: string;
  call_id: string | null;
  removed: boolean;
}

/** @param limits others than the usual ones, for tests */
export function createMemory({ database }: { database: Database }, limits: MemoryLimits = MEMORY_LIMITS): MemoryRows {
  const rows = <Extra>(name: string, sql: string, place: MemoryPlace, values: SqlValue[]) =>
    database.query<Row & Extra>(`memory.${name}`, sql, [...columnsOf(place), ...values]);
  return {
    async list(place, prefix = '') {
      const found = await rows<{ first_line: string }>('list', LIST, place, [prefix]);
      return found.map((row): MemoryFile => ({ ...versionOf(row), firstLine: row.first_line }));
    },
    async read(place, path, version) {
      const [row] = await rows<{ content: string }>('read', READ, place, [path, version ?? null]);
      return row && { ...versionOf(row), content: row.content };
    },
    history: async (place, path) => (await rows('history', HISTORY, place, [path])).map(versionOf),
    async write(place, { path, content, version, by }, audit) {
      const action = content === null ? 'memory.delete' : 'memory.write';
      const values = [path, content, version, toJsonText(by), toJsonText(limits), audit ? sourceText(audit.source) : null, audit?.target ?? null];
      const [row] = await database.query<WriteRow>(action, WRITE(action), [...columnsOf(place), ...values]);
      return outcomeOf(row);
    },
    async eraseUser(tenantId, userId) {
      const [row] = await database.query<{ files: number }>('memory.eraseUser', ERASE, [tenantId, userId]);
      return row?.files ?? 0;
    },
  };
}

interface WriteRow {
  outcome: MemoryOutcome['outcome'];
  version: number;
  at: Date | null;
}

function outcomeOf(row: WriteRow | undefined): MemoryOutcome {
  const { outcome = 'conflict', version = 0, at } = row ?? {};
  if (outcome === 'written') return { outcome, version, at: at?.toISOString() ?? '' };
  return outcome === 'conflict' ? { outcome, version } : { outcome };
}

function columnsOf({ tenantId, scope, owner }: MemoryPlace): SqlValue[] {
  return [tenantId, scope, owner];
}

function versionOf(row: Row): MemoryVersion {
  const by: MemoryWriter = { kind: row.writer_kind, id: row.writer_id, ...(row.call_id !== null && { callId: row.call_id }) };
  return { path: row.path, version: row.version, bytes: row.bytes, at: row.at.toISOString(), by, ...(row.removed && { removed: true as const }) };
}
