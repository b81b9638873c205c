import type { EventType } from '../../contracts/events.ts';
import { messageIdOf, type WebhookAttempt } from '../../contracts/webhook.ts';
import type { Database } from '../database/database.ts';
import type { WebhookRows } from './webhook-rows.ts';

const ATTEMPTS = `select attempt_id, conversation_id, seq, type, at, took_ms, outcome, status, problem, retry_at from webhook_attempts
  where webhook_id = $1 and ($2::bigint is null or attempt_id < $2) order by attempt_id desc limit $3`;

/** Conversations whose newest event is older are passed over without reading their logs. */
const SINCE = `with chosen as materialized (
    select h.webhook_id, h.tenant_id, e.conversation_id, e.seq, e.at
    from webhooks h join conversations c on c.tenant_id = h.tenant_id and (h.agents is null or c.agent_id = any(h.agents))
      cross join lateral (select at from events where conversation_id = c.conversation_id order by seq desc limit 1) as newest
      join events e on e.conversation_id = c.conversation_id and e.at >= $2
        and (e.type = any(h.types) or (h.types is null and e.type not in ('text.delta', 'reasoning.delta', 'tool.output')))
    where h.webhook_id = $1 and newest.at >= $2 limit $3::integer + 1
  ), counted as (select count(*)::integer as events from chosen), queued as (
    insert into webhook_deliveries (webhook_id, tenant_id, conversation_id, seq)
    select webhook_id, tenant_id, conversation_id, seq from chosen, counted where counted.events <= $3 order by at, conversation_id, seq
    on conflict (conversation_id, seq, webhook_id) do update set delivered_at = null
  ), woken as (update webhooks set due_at = '-infinity' where webhook_id = $1)
  select events from counted`;

const FROM = `with chosen as materialized (
    select delivery_id from webhook_deliveries where webhook_id = $1
      and delivery_id >= (select delivery_id from webhook_deliveries where webhook_id = $1 and conversation_id = $2 and seq = $3::bigint) limit $4::integer + 1
  ), counted as (select count(*)::integer as events from chosen), queued as (
    update webhook_deliveries d set delivered_at = null from chosen, counted where d.delivery_id = chosen.delivery_id and counted.events <= $4
  ), woken as (update webhooks set due_at = '-infinity' where webhook_id = $1)
  select events from counted`;

interface AttemptRow {
  attempt_id: string;
  conversation_id: string | null;
  seq: number | null;
  type: EventType | null;
  at: Date;
  took_ms: number;
  outcome: WebhookAttempt['outcome'];
  status: number | null;
  problem: string | null;
  retry_at: Date | null;
}

/** What was sent, and sending it again. */
export function createWebhookReplays(database: Database): Pick<WebhookRows, 'attempts' | 'replaySince' | 'replayFrom'> {
  const queued = (rows: { events: number }[], limit: number) => {
    const events = rows[0]?.events ?? 0;
    return events > limit ? undefined : events;
  };
  return {
    attempts: async (webhookId, { before, limit }) =>
      (await database.query<AttemptRow>('webhooks.attempts', ATTEMPTS, [webhookId, before ?? null, limit])).map(toAttempt),
    replaySince: async (webhookId, since, limit) => queued(await database.query('webhooks.replaySince', SINCE, [webhookId, since.toISOString(), limit]), limit),
    replayFrom: async (webhookId, { conversationId, seq }, limit) =>
      queued(await database.query('webhooks.replayFrom', FROM, [webhookId, conversationId, seq, limit]), limit),
  };
}

function toAttempt(row: AttemptRow): WebhookAttempt {
  const { conversation_id: conversationId, seq } = row;
  return {
    attemptId: row.attempt_id,
    at: row.at.toISOString(),
    outcome: row.outcome,
    ...(conversationId !== null && seq !== null && { messageId: messageIdOf({ conversationId, seq }) }),
    ...(row.type !== null && { type: row.type }),
    tookMs: row.took_ms,
    ...(row.status !== null && { status: row.status }),
    ...(row.problem !== null && { problem: row.problem }),
    ...(row.retry_at && { retryAt: row.retry_at.toISOString() }),
  };
}
