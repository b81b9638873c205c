import type { Actor, AuditAction, AuditEntry, AuditSource } from '../../contracts/audit.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';
import { insertAudit } from './audit-sql.ts';

const ADD = (action: AuditAction) =>
  `with row as (select $1::text as tenant_id, $2::text as target, $3::json as details)
  ${insertAudit({ from: 'row', action, tenant: 'tenant_id', target: 'target', details: 'details', source: '$4' })}`;

const RESOLVED = `insert into audit_log (tenant_id, actor_kind, actor_id, action, target, details, once_key)
  select tenant_id, 'conversation', conversation_id, 'approval.resolved', $2, $3::json, 'approval.resolved ' || $2 from conversations where conversation_id = $1
  on conflict (once_key) where once_key is not null do nothing`;

/** Which rows a reader wants. */
export interface AuditFilter {
  tenantId?: string;
  actorId?: string;
  action?: string;
  target?: string;
  /** Only rows of this time or later, ISO 8601. */
  since?: string;
  /** Only rows before the one with this id. */
  olderThan?: string;
  limit: number;
}

/** The audit log. Statements that change something in Postgres add their row themselves, see `insertAudit`. */
export interface AuditRows {
  /** Notes a change that is about to be made elsewhere, such as in a workflow. */
  add(entry: AuditSource & { action: AuditAction; target: string; tenantId?: string; details?: JsonObject }): Promise<void>;
  /** Notes how an approval ends, once for each call, before the answer takes effect. */
  addResolved(conversationId: string, callId: string, details: JsonObject): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter): Promise<AuditEntry[]>;
}

interface Row {
  audit_id: string;
  at: Date;
  tenant_id: string | null;
  actor_kind: Actor['kind'];
  actor_id: string;
  request_id: string | null;
  action: string;
  target: string;
  details: JsonObject;
}

export function createAudit({ database }: { database: Database }): AuditRows {
  return {
    async add({ tenantId, target, action, details = {}, ...source }) {
      await database.query(`audit.add:${action}`, ADD(action), [tenantId ?? null, target, toJsonText(details), sourceText(source)]);
    },
    async addResolved(conversationId, callId, details) {
      await database.query('audit.addResolved', RESOLVED, [conversationId, callId, toJsonText(details)]);
    },
    list: (filter) => list(database, filter),
  };
}

/** The source as the value of its placeholder. */
export function sourceText({ actor: { kind, id }, requestId }: AuditSource): string {
  return toJsonText({ actor: { kind, id }, requestId });
}

const CONDITIONS = {
  tenantId: 'tenant_id = ',
  actorId: 'actor_id = ',
  action: 'action = ',
  target: 'target = ',
  since: 'at >= ',
  olderThan: 'audit_id < ',
} as const;
type ConditionName = keyof typeof CONDITIONS;

async function list(database: Database, filter: AuditFilter): Promise<AuditEntry[]> {
  const names = (Object.keys(CONDITIONS) as ConditionName[]).filter((name) => filter[name] !== undefined);
  const conditions = names.map((name, index) => `${CONDITIONS[name]}$${index + 2}`).join(' and ') || 'true';
  const sql = `select audit_id, at, tenant_id, actor_kind, actor_id, request_id, action, target, details from audit_log
    where ${conditions} order by audit_id desc limit $1`;
  const values: SqlValue[] = [filter.limit, ...names.map((name) => filter[name] ?? null)];
  return (await database.query<Row>(`audit.list:${names.join()}`, sql, values)).map(toEntry);
}

function toEntry(row: Row): AuditEntry {
  return {
    auditId: row.audit_id,
    at: row.at.toISOString(),
    actor: { kind: row.actor_kind, id: row.actor_id },
    ...(row.tenant_id !== null && { tenantId: row.tenant_id }),
    action: row.action,
    target: row.target,
    details: row.details,
    ...(row.request_id !== null && { requestId: row.request_id }),
  };
}
