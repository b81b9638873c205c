import type { Database, SqlValue } from '../database/database.ts';

/** A request that is repeated with the same key. */
export interface RepeatableRequest {
  /** Empty: of operators. */
  tenantId: string;
  /** A hash of user, method, path and key. */
  request: Buffer;
  /** A hash of all that the request says. */
  fingerprint: Buffer;
}

/**
 * `begun`: it is the first, and has to end with `answer` or `release`. `running`: the first is in progress. `other`: the first said something else. `answered`:
 * what the first was answered; without a body where that is not kept.
 */
export type Repetition = { state: 'begun' | 'running' | 'other' } | { state: 'answered'; status: number; body?: string };

/** Answers to requests with an Idempotency-Key, kept for a day. */
export interface RequestAnswers {
  begin(request: RepeatableRequest): Promise<Repetition>;
  /** Says that these are still in progress: without that for a minute, a request counts as one whose process has died. */
  keep(requests: Iterable<RepeatableRequest>): Promise<void>;
  answer(request: RepeatableRequest, status: number, body: string | undefined): Promise<void>;
  /** The request did nothing, and may be repeated. */
  release(request: RepeatableRequest): Promise<void>;
  /** Removes those of all tenants that are no longer kept. */
  sweep(): Promise<void>;
}

const KEPT = `interval '24 hours'`;
/** A process says more often that its requests are in progress. */
const ABANDONED = `interval '1 minute'`;
const BEGIN = `with begun as (
    insert into request_answers as known (tenant_id, request, fingerprint) values ($1, $2, $3)
    on conflict (tenant_id, request) do update set fingerprint = excluded.fingerprint, began_at = clock_timestamp(), status = null, body = null
      where known.began_at < clock_timestamp() - case when known.status is null then ${ABANDONED} else ${KEPT} end
    returning 1
  )
  select exists (select from begun) as begun, found.fingerprint, found.status, found.body
  from (select 1) as one left join request_answers as found on (found.tenant_id, found.request) = ($1, $2)`;
const KEEP = `update request_answers known set began_at = clock_timestamp()
  from unnest($1::text[], $2::text[]) as kept (tenant_id, request)
  where (known.tenant_id, known.request) = (kept.tenant_id, decode(kept.request, 'hex')) and known.status is null`;
const ANSWER = 'update request_answers set status = $3, body = $4 where (tenant_id, request) = ($1, $2) and status is null';
const RELEASE = 'delete from request_answers where (tenant_id, request) = ($1, $2) and status is null';
const SWEEP = `delete from request_answers where began_at < statement_timestamp() - ${KEPT}`;

interface Row {
  begun: boolean;
  fingerprint: Buffer | null;
  status: number | null;
  body: string | null;
}

export function createRequestAnswers({ database }: { database: Database }): RequestAnswers {
  const place = ({ tenantId, request }: RepeatableRequest): SqlValue[] => [tenantId, request];
  return {
    async begin(request) {
      const [row] = await database.query<Row>('answers.begin', BEGIN, [...place(request), request.fingerprint]);
      if (row?.begun) return { state: 'begun' };
      // Absent when the first began at the same moment.
      if (!row?.fingerprint) return { state: 'running' };
      if (!row.fingerprint.equals(request.fingerprint)) return { state: 'other' };
      if (row.status === null) return { state: 'running' };
      return { state: 'answered', status: row.status, ...(row.body !== null && { body: row.body }) };
    },
    async keep(requests) {
      const all = [...requests];
      await database.query('answers.keep', KEEP, [all.map(({ tenantId }) => tenantId), all.map(({ request }) => request.toString('hex'))]);
    },
    async answer(request, status, body) {
      await database.query('answers.answer', ANSWER, [...place(request), status, body ?? null]);
    },
    async release(request) {
      await database.query('answers.release', RELEASE, place(request));
    },
    async sweep() {
      await database.query('answers.sweep', SWEEP, []);
    },
  };
}
