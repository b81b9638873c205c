import { userOfTokenId } from '../../contracts/api-key.ts';
import type { AuditSource } from '../../contracts/audit.ts';
import type { Limits, LimitsOf } from '../../contracts/limits/limits.ts';
import { pseudonymOf } from '../../platform/pseudonym.ts';
import { toJsonText } from '../database/json-text.ts';
import type { Database } from '../database/database.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';

/** A tenant or a key. */
export type Subject = { tenant: string } | { key: string };

/** Limits of the HTTP service, and what has to be counted for them. */
export interface LimitRows {
  /** In the order of their subjects. */
  list(): Promise<LimitsOf[]>;
  /** Those that were set, by the place of their subject. */
  find(subjects: Subject[]): Promise<(Limits | undefined)[]>;
  /** Replaces the limits of a tenant or a key; none: the defaults hold again. */
  set(subject: Subject, limits: Limits, by: AuditSource): Promise<void>;
  /** Counts a request of each; how many they have made in this minute, and how many seconds it still has. */
  count(subjects: Subject[]): Promise<{ requests: number; secondsLeft: number }[]>;
  /** Conversations of a tenant in which a turn runs. */
  running(tenantId: string): Promise<number>;
}

const LIST = 'select subject, limits, updated_at from limits order by subject collate "C"';
const FIND = 'select subject, limits from limits where subject = any($1::text[])';
const audited = (target: string, tenant: string) => ({ from: 'changed', action: 'limits.set', tenant: `${tenant}::text`, target: `${target}::text` }) as const;
const SET = `with changed as (
    insert into limits (subject, limits) values ($1, $2)
    on conflict (subject) do update set limits = excluded.limits, updated_at = clock_timestamp() returning subject, limits
  ) ${insertAudit({ ...audited('$4', '$5'), details: 'limits::json', source: '$3' })}`;
const REMOVE = `with changed as (delete from limits where subject = $1 returning subject) ${insertAudit({ ...audited('$3', '$4'), source: '$2' })}`;
// In one order, so that two requests that count the same rows do not wait for each other.
const COUNT = `insert into request_counts as counted (subject, minute, requests)
  select subject, date_trunc('minute', clock_timestamp()), 1 from (select unnest($1::text[]) as subject order by 1) as given
  on conflict (subject) do update set
    requests = case when counted.minute >= excluded.minute then counted.requests + 1 else 1 end,
    minute = greatest(counted.minute, excluded.minute)
  returning subject, requests, greatest(1, ceil(extract(epoch from minute + interval '1 minute' - clock_timestamp())))::integer as seconds_left`;
const RUNNING = `select count(*)::integer as running from conversations where tenant_id = $1 and state = 'running'`;

interface CountRow {
  subject: string;
  requests: number;
  seconds_left: number;
}

export function createLimitRows({ database }: { database: Database }): LimitRows {
  return {
    async list() {
      const rows = await database.query<{ subject: string; limits: Limits; updated_at: Date }>('limits.list', LIST, []);
      return rows.map(({ subject, limits, updated_at: at }) => ({ ...readSubject(subject), limits, updatedAt: at.toISOString() }));
    },
    async find(subjects) {
      const rows = await database.query<{ subject: string; limits: Limits }>('limits.find', FIND, [subjects.map(subjectText)]);
      const found = new Map(rows.map(({ subject, limits }) => [subject, limits]));
      return subjects.map((subject) => found.get(subjectText(subject)));
    },
    async set(subject, limits, by) {
      const text = subjectText(subject);
      const source = [sourceText(by), ...auditedAs(subject)];
      if (Object.keys(limits).length === 0) await database.query('limits.remove', REMOVE, [text, ...source]);
      else await database.query('limits.set', SET, [text, toJsonText(limits), ...source]);
    },
    async count(subjects) {
      const rows = await database.query<CountRow>('limits.count', COUNT, [subjects.map(subjectText)]);
      const counted = new Map(rows.map((row) => [row.subject, { requests: row.requests, secondsLeft: row.seconds_left }]));
      return subjects.map((subject) => counted.get(subjectText(subject)) ?? { requests: 1, secondsLeft: 1 });
    },
    async running(tenantId) {
      const [row] = await database.query<{ running: number }>('limits.running', RUNNING, [tenantId]);
      return row?.running ?? 0;
    },
  };
}

export function subjectText(subject: Subject): string {
  return 'tenant' in subject ? `tenant:${subject.tenant}` : `key:${subject.key}`;
}

/** The name in the audit log, and the tenant. A user may be erased, and the log cannot. */
function auditedAs(subject: Subject): [target: string, tenant: string | null] {
  if ('tenant' in subject) return [subjectText(subject), subject.tenant];
  const user = userOfTokenId(subject.key);
  return user ? [`user:${pseudonymOf(user)}`, user.tenantId] : [subjectText(subject), null];
}

function readSubject(text: string): Subject {
  const at = text.indexOf(':');
  return text.startsWith('key:') ? { key: text.slice(at + 1) } : { tenant: text.slice(at + 1) };
}
