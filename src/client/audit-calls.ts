import { parseTimeOrAge } from '../common/duration.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { AUDIT_ACTIONS } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import { showValue } from '../common/show-value.ts';
import type { Store } from '../store/store.ts';
import { auditOptions } from './client-arguments.ts';
import type { AuditLog } from './types/installation-types.ts';

const DEFAULT_LIMIT = 50;

/** The audit log, as readers page through it. */
export function createAuditCalls({ audit }: Pick<Store, 'audit'>): AuditLog {
  return {
    async list(given) {
      const { actor: actorId, tenant: tenantId, limit = DEFAULT_LIMIT, since, cursor, ...rest } = auditOptions(given);
      const filter = withoutUndefined({ ...rest, actorId, tenantId, since: since && timeOf(since), olderThan: cursor && rowOf(cursor) });
      const rows = await audit.list({ ...filter, limit: limit + 1 });
      if (rows.length === 0) checkAction(filter.action);
      const entries = rows.slice(0, limit);
      const last = rows.length > limit ? entries.at(-1) : undefined;
      return { entries, ...(last && { next: Buffer.from(last.auditId).toString('base64url') }) };
    },
  };
}

/** An empty list must not mean that the action is misspelt. One that was found may be that of a newer version. */
function checkAction(action: string | undefined): void {
  if (action === undefined || AUDIT_ACTIONS.some((known) => known === action)) return;
  throw failure('INVALID_ARGUMENT', {
    what: 'action',
    problem: `${showValue(action)} is no action of the audit log`,
    fix: `Use one of ${AUDIT_ACTIONS.join(', ')}`,
  });
}

function timeOf(since: string): string {
  const at = parseTimeOrAge(since);
  if (at >= 0 && at < LAST_TIME) return new Date(at).toISOString();
  throw failure('INVALID_ARGUMENT', {
    what: 'since',
    problem: `"${since}" is no time`,
    fix: 'Give an age such as 24h or 7d, or a time such as 2027-01-31T09:00:00Z',
  });
}

function rowOf(cursor: string): string {
  const row = Buffer.from(cursor, 'base64url').toString();
  if (/^\d{1,18}$/.test(row)) return row;
  throw failure('INVALID_ARGUMENT', { what: 'cursor', problem: 'it is none of this list', fix: 'Give the "next" of the page before' });
}

/** The end of the year 9999, which Postgres reads too. */
const LAST_TIME = Date.UTC(9999, 11, 31);
