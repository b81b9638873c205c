import type { AuditAction } from '../../contracts/audit.ts';

/** SQL expressions of an audit row. They read columns of `from`. */
interface AuditRowSql {
  /** A CTE of the same statement with the rows that were changed: each gets a row in the audit log, in the same transaction. */
  from: string;
  action: AuditAction;
  target: string;
  tenant?: string;
  /** A JSON value. */
  details?: string;
  /** The placeholder of the source as JSON text. */
  source: string;
}

/** The insert of a statement that changes something and notes it in the audit log. */
export function insertAudit({ from, action, target, tenant = 'null', details = `'{}'::json`, source }: AuditRowSql): string {
  return `insert into audit_log (tenant_id, actor_kind, actor_id, request_id, action, target, details)
    select ${tenant}, ${source}::json->'actor'->>'kind', ${source}::json->'actor'->>'id', ${source}::json->>'requestId', '${action}', ${target}, ${details} from ${from}`;
}
