import type { Database, SqlValue } from '../database/database.ts';

/** A request that is repeated with the same key. */
export interface RepeatableRequest {
  /** Empty: of operators. */
  tenantId: string;
  /** A hash of user, method, path and key. */
  request: Buffer;
  /** A hash of all that the request says. */
  fingerprint: Buffer;
  /** Names this attempt, without spaces: what another one has taken over is not ended by it. */
  holder: string;
}

/**
 * `begun`: it has to end with `answer`, `release` or `giveUp`; `first` names the first of the attempts of which none is known to have ended. `running`: the first is
 * in progress. `other`: the first said something else. `answered`: what the first was answered; without a body where that is not kept.
 */
export type Repetition = { state: 'begun'; first: string } | { state: 'running' } | { state: 'other' } | { state: 'answered'; status: number; body?: string };

/** Answers to requests with an Idempotency-Key, kept for a day. */
export interface RequestAnswers {
  begin(request: RepeatableRequest): Promise<Repetition>;
  /** Says that these are still in progress: without that for a minute, a request counts as one whose process has died. */
  keep(requests: Iterable<RepeatableRequest>): Promise<void>;
  answer(request: RepeatableRequest, status: number, body: string | undefined): Promise<void>;
  /** The request did nothing, and may be repeated. */
  release(request: RepeatableRequest): Promise<void>;
  /** Whether the request did something is not known, and it may be repeated. */
  giveUp(request: RepeatableRequest): Promise<void>;
  /** Removes those of all tenants that are no longer kept. */
  sweep(): Promise<void>;
}

const KEPT = `interval '24 hours'`;
/** A process says more often that its requests are in progress. */
const ABANDONED = `interval '1 minute'`;
/** While a request is in progress, the place of its answer names the first attempt and the one that holds it. */
const BEGIN = `with begun as (
    insert into request_answers as known (tenant_id, request, fingerprint, body) values ($1, $2, $3, $4::text || ' ' || $4::text)
    on conflict (tenant_id, request) do update set fingerprint = excluded.fingerprint, began_at = clock_timestamp(), status = null,
        body = case when known.status is null and known.fingerprint = excluded.fingerprint and known.body is not null
          then split_part(known.body, ' ', 1) else $4::text end || ' ' || $4::text
      where known.began_at <= clock_timestamp() - case when known.status is null then ${ABANDONED} else ${KEPT} end
    returning split_part(body, ' ', 1) as first
  )
  select (select first from begun) as first, found.fingerprint, found.status, found.body
  from (select 1) as one left join request_answers as found on (found.tenant_id, found.request) = ($1, $2)`;
const KEEP = `update request_answers known set began_at = clock_timestamp()
  from unnest($1::text[], $2::text[], $3::text[]) as kept (tenant_id, request, holder)
  where (known.tenant_id, known.request) = (kept.tenant_id, decode(kept.request, 'hex'))
    and known.status is null and split_part(known.body, ' ', 2) = kept.holder`;
const HELD = `(tenant_id, request) = ($1, $2) and status is null and split_part(body, ' ', 2) = $3`;
const ANSWER = `update request_answers set status = $4, body = $5 where ${HELD}`;
const RELEASE = `delete from request_answers where ${HELD}`;
const GIVE_UP = `update request_answers set began_at = clock_timestamp() - ${ABANDONED} where ${HELD}`;
const SWEEP = `delete from request_answers where began_at < statement_timestamp() - ${KEPT}`;

interface Row {
  first: string | null;
  fingerprint: Buffer | null;
  status: number | null;
  body: string | null;
}

export function createRequestAnswers({ database }: { database: Database }): RequestAnswers {
  const held = ({ tenantId, request, holder }: RepeatableRequest): SqlValue[] => [tenantId, request, holder];
  return {
    async begin(request) {
      const { tenantId, request: hash, fingerprint, holder } = request;
      const [row] = await database.query<Row>('answers.begin', BEGIN, [tenantId, hash, fingerprint, holder]);
      if (row && row.first !== null) return { state: 'begun', first: row.first };
      // Absent when the first began at the same moment.
      if (!row?.fingerprint) return { state: 'running' };
      if (!row.fingerprint.equals(fingerprint)) return { state: 'other' };
      if (row.status === null) return { state: 'running' };
      return { state: 'answered', status: row.status, ...(row.body !== null && { body: row.body }) };
    },
    async keep(requests) {
      const all = [...requests];
      const hashes = all.map(({ request }) => request.toString('hex'));
      await database.query('answers.keep', KEEP, [all.map(({ tenantId }) => tenantId), hashes, all.map(({ holder }) => holder)]);
    },
    async answer(request, status, body) {
      await database.query('answers.answer', ANSWER, [...held(request), status, body ?? null]);
    },
    async release(request) {
      await database.query('answers.release', RELEASE, held(request));
    },
    async giveUp(request) {
      await database.query('answers.giveUp', GIVE_UP, held(request));
    },
    async sweep() {
      await database.query('answers.sweep', SWEEP, []);
    },
  };
}
