import type { WebhookAttempt } from '../../contracts/webhook.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { toEvent, type EventRow } from '../database/event-row.ts';
import type { NewAttempt, WebhookRows, WebhookTask } from './webhook-rows.ts';

/** Longer than a run of the sender: an endpoint that no sender has claimed for this time gets a new sender. */
const DUE = `update webhooks set due_at = now() + interval '1 minute' where webhook_id in (
    select webhook_id from webhooks h where state = 'active' and due_at <= now()
      and exists (select from webhook_deliveries d where d.webhook_id = h.webhook_id and d.delivered_at is null)
    limit 200 for update skip locked
  ) returning webhook_id`;
const BEGIN = `update webhooks set sender = $2, due_at = now() + interval '2 minutes' where webhook_id = $1 and state = 'active' returning webhook_id`;
const REST = `update webhooks set due_at = '-infinity' where webhook_id = $1 and sender = $2`;

/**
 * The numbers of deliveries follow the order of commits only within a conversation, and a replay may queue an earlier event after a later one. So the
 * conversation is that of the lowest number, and the event is the earliest of that conversation.
 */
const NEXT = `select h.tenant_id as owner, h.url, h.secret, case when h.old_secret_until > now() then h.old_secret end as old_secret, h.failures,
    coalesce(extract(epoch from clock_timestamp() - h.failing_since)::float8 * 1000, 0) as failing_ms,
    d.delivery_id, d.conversation_id, d.seq, e.at, e.turn_id, e.step_id, e.attempt, e.type,
    case when octet_length(e.data::text) <= $3::integer then e.data end as data, octet_length(e.data::text) as bytes, c.agent_id, c.user_id
  from webhooks h
    left join lateral (
      select conversation_id from webhook_deliveries where webhook_id = h.webhook_id and delivered_at is null order by delivery_id limit 1
    ) as first on true
    left join lateral (
      select delivery_id, conversation_id, seq from webhook_deliveries
      where webhook_id = h.webhook_id and conversation_id = first.conversation_id and delivered_at is null order by seq limit 1
    ) as d on true
    left join events e on e.conversation_id = d.conversation_id and e.seq = d.seq
    left join conversations c on c.conversation_id = d.conversation_id
  where h.webhook_id = $1 and h.sender = $2 and h.state = 'active'`;

/** Notes an attempt at a delivery that is still there: the endpoint or the conversation may have been removed meanwhile. */
const note = ({
  outcome = '$5',
  retryAt = 'null::timestamptz',
} = {}) => `insert into webhook_attempts (webhook_id, tenant_id, conversation_id, seq, type, took_ms, outcome,
    status, problem, retry_at)
  select d.webhook_id, d.tenant_id, d.conversation_id, d.seq, (select type from events e where e.conversation_id = d.conversation_id and e.seq = d.seq),
    $3, ${outcome}, $4, $6, ${retryAt}
  from webhook_deliveries d where d.delivery_id = $2 and d.webhook_id = $1`;
/** A message that an address has taken which the endpoint no longer has still waits, for the new one. */
const DELIVERED = `with tried as (select from webhooks where webhook_id = $1 and url = $7),
    sent as (update webhook_deliveries set delivered_at = clock_timestamp() where delivery_id = $2 and exists (select from tried)),
    healthy as (update webhooks set failures = 0, failing_since = null where webhook_id = $1 and url = $7 and failures > 0)
  ${note()}`;
/** Nothing was sent, so this says nothing about the endpoint. */
const DROPPED = `with done as (update webhook_deliveries set delivered_at = clock_timestamp() where delivery_id = $2) ${note()}`;
/** A failure says nothing about an endpoint that was changed or enabled during the attempt. */
const AS_TRIED = `webhook_id = $1 and state = 'active' and url = $7 and failures = $8::integer`;
/** A minute after the time of the next attempt, another sender is started if none has made it. */
const FAILED = `with changed as (
    update webhooks set failures = failures + 1, failing_since = coalesce(failing_since, now()),
      due_at = now() + $9::float8 * interval '1 millisecond' + interval '1 minute' where ${AS_TRIED} returning 1
  ), noted as (${note({ retryAt: `case when exists (select from changed) then now() + $9::float8 * interval '1 millisecond' end` })})
  select 1 from changed`;
const DISABLE = `with changed as (
    update webhooks set state = 'disabled', why = $9, failures = failures + 1, failing_since = coalesce(failing_since, now()) where ${AS_TRIED} returning 1
  ), noted as (${note({ outcome: `case when exists (select from changed) then $5 else 'failed' end` })})
  select 1 from changed`;
const IS_OVER = `(d.delivered_at is not null or not exists (select from webhooks h where h.webhook_id = d.webhook_id and h.state = 'active'))`;
/** Whether an event waits is looked at again when its row is deleted: it may have been queued again meanwhile. */
const SWEEP = `with old_attempts as (
    delete from webhook_attempts where attempt_id in (
      select attempt_id from webhook_attempts where at < now() - $1::float8 * interval '1 millisecond' limit 5000
    ) returning 1
  ), old_deliveries as (
    delete from webhook_deliveries d where delivery_id in (
      select delivery_id from webhook_deliveries d where queued_at < now() - $1::float8 * interval '1 millisecond' and ${IS_OVER} limit 5000
    ) and ${IS_OVER} returning 1
  ) select (select count(*) from old_attempts)::integer + (select count(*) from old_deliveries)::integer as swept`;

type NextRow = Omit<EventRow, 'type' | 'data'> & {
  owner: string;
  url: string;
  secret: string;
  old_secret: string | null;
  failures: number;
  failing_ms: number;
  delivery_id: string | null;
  type: EventRow['type'] | null;
  data: EventRow['data'] | null;
  bytes: number;
  agent_id: string;
  user_id: string;
};

type Queue = Pick<WebhookRows, 'claimDue' | 'begin' | 'next' | 'delivered' | 'dropped' | 'failed' | 'disable' | 'rest' | 'sweep'>;

/** What a sender works with. */
export function createWebhookQueue(database: Database): Queue {
  const noted = ({ webhookId, deliveryId, tookMs, status, problem }: NewAttempt, outcome: WebhookAttempt['outcome']) => [
    webhookId,
    deliveryId,
    Math.round(tookMs),
    status ?? null,
    outcome,
    problem ?? null,
  ];
  const changed = async (name: string, sql: string, values: SqlValue[]) => (await database.query(name, sql, values)).length > 0;
  return {
    claimDue: async () => (await database.query<{ webhook_id: string }>('webhooks.due', DUE, [])).map((row) => row.webhook_id),
    begin: async (webhookId, sender) => (await database.query('webhooks.begin', BEGIN, [webhookId, sender])).length > 0,
    async next(webhookId, sender, maxBytes) {
      const [row] = await database.query<NextRow>('webhooks.next', NEXT, [webhookId, sender, maxBytes]);
      return row && toTask(row);
    },
    async delivered(attempt, { url }) {
      await database.query('webhooks.delivered', DELIVERED, [...noted(attempt, 'delivered'), url]);
    },
    async dropped(attempt) {
      await database.query('webhooks.dropped', DROPPED, noted(attempt, 'dropped'));
    },
    failed: (attempt, { url, failures }, retryMs) => changed('webhooks.failed', FAILED, [...noted(attempt, 'failed'), url, failures, retryMs]),
    disable: (attempt, { url, failures }, why) => changed('webhooks.disable', DISABLE, [...noted(attempt, 'disabled'), url, failures, why]),
    async rest(webhookId, sender) {
      await database.query('webhooks.rest', REST, [webhookId, sender]);
    },
    async sweep(olderThanMs) {
      const [row] = await database.query<{ swept: number }>('webhooks.sweep', SWEEP, [olderThanMs]);
      return row?.swept ?? 0;
    },
  };
}

function toTask(row: NextRow): WebhookTask {
  const { owner: tenantId, url, secret, old_secret: old, failures, failing_ms: failingMs, delivery_id: deliveryId } = row;
  const task = { tenantId, url, secrets: old === null ? [secret] : [secret, old], failures, failingMs };
  if (deliveryId === null) return task;
  const { conversation_id: conversationId, seq, type, data, bytes, agent_id: agentId, user_id: userId } = row;
  if (type === null) return { ...task, delivery: { deliveryId, conversationId, seq } };
  const { data: whole, ...event } = toEvent({ ...row, type, data: data ?? {} });
  return { ...task, delivery: { deliveryId, conversationId, seq, event: { event: { ...event, ...(data && { data: whole }) }, agentId, userId, bytes } } };
}
