import type { AuditAction } from '../../contracts/audit.ts';
import type { EventType } from '../../contracts/events.ts';
import type { Webhook } from '../../contracts/webhook.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';
import { createWebhookQueue } from './webhook-queue.ts';
import { createWebhookReplays } from './webhook-replays.ts';
import type { WebhookRows } from './webhook-rows.ts';

const COLUMNS = `webhook_id, tenant_id, url, types, agents, state, why, created_at, failures, failing_since,
  case when old_secret_until > now() then old_secret_until end as old_secret_until,
  (select count(*)::integer from (
    select 1 from webhook_deliveries d where d.webhook_id = webhooks.webhook_id and d.delivered_at is null limit 1000
  ) as counted) as waiting`;
/** Of the URL only its origin: the rest may be a secret. */
const DETAILS = `json_build_object('origin', substring(url from '^[A-Za-z]+://[^/?#]+'), 'state', state)`;
const audited = (action: AuditAction, change: string, source: string) =>
  `with changed as (${change}), noted as (${insertAudit({ from: 'changed', action, tenant: 'tenant_id', target: 'webhook_id', details: DETAILS, source })})
  select * from changed`;
const CREATE = `insert into webhooks (webhook_id, tenant_id, url, types, agents, secret)
  select $1, $2, $3, $4, $5, $6 where (select count(*) from webhooks where tenant_id = $2) < $7::integer returning ${COLUMNS}`;
const GET = `select ${COLUMNS} from webhooks where webhook_id = $1 and ($2::text is null or tenant_id = $2)`;
const LIST = `select ${COLUMNS} from webhooks where $1::text is null or tenant_id = $1 order by created_at, webhook_id`;
/** Whatever changed, the sender tries again now. */
const CHANGE = `update webhooks set url = coalesce($2, url), types = case when $3 then $4::text[] else types end, agents = case when $5 then $6::text[] else agents end,
    state = coalesce($7, state), why = case $7 when 'active' then null when 'disabled' then 'it was disabled by hand' else why end,
    failures = case when $7 = 'active' or $2 is not null then 0 else failures end,
    failing_since = case when $7 = 'active' or $2 is not null then null else failing_since end, due_at = '-infinity'
  where webhook_id = $1 returning ${COLUMNS}`;
const REMOVE = `with gone as (delete from webhooks where webhook_id = $1 returning webhook_id, tenant_id, url, state),
    noted as (${insertAudit({ from: 'gone', action: 'webhook.remove', tenant: 'tenant_id', target: 'webhook_id', details: DETAILS, source: '$2' })}),
    waiting as (delete from webhook_deliveries where webhook_id = $1), attempts as (delete from webhook_attempts where webhook_id = $1)
  select 1 from gone`;
const ROTATE = `update webhooks set old_secret = secret, old_secret_until = now() + $3::float8 * interval '1 millisecond', secret = $2
  where webhook_id = $1 returning ${COLUMNS}`;
const SECRETS = `select secret, case when old_secret_until > now() then old_secret end as old_secret from webhooks where webhook_id = $1`;

interface Row {
  webhook_id: string;
  tenant_id: string;
  url: string;
  types: EventType[] | null;
  agents: string[] | null;
  state: Webhook['state'];
  why: string | null;
  created_at: Date;
  failures: number;
  failing_since: Date | null;
  old_secret_until: Date | null;
  waiting: number;
}

/** Endpoints that events are sent to. */
export function createWebhooks({ database }: { database: Database }): WebhookRows {
  const one = async (name: string, sql: string, values: SqlValue[]): Promise<Webhook | undefined> => {
    const [row] = await database.query<Row>(name, sql, values);
    return row && toWebhook(row);
  };
  return {
    create({ webhookId, tenantId, url, types, agents, secret }, limit, by) {
      const values = [webhookId, tenantId, url, types ?? null, agents ?? null, secret, limit, sourceText(by)];
      // Of two at once, neither would count the other.
      return database.withLock(`webhooks of ${tenantId}`, 'alone', () => one('webhooks.create', audited('webhook.create', CREATE, '$8'), values));
    },
    get: (webhookId, tenantId) => one('webhooks.get', GET, [webhookId, tenantId ?? null]),
    list: async (tenantId) => (await database.query<Row>('webhooks.list', LIST, [tenantId ?? null])).map(toWebhook),
    change: (webhookId, { url, types, agents, state }, by) => {
      const lists = [types !== undefined, types ?? null, agents !== undefined, agents ?? null];
      return one('webhooks.change', audited('webhook.change', CHANGE, '$8'), [webhookId, url ?? null, ...lists, state ?? null, sourceText(by)]);
    },
    remove: async (webhookId, by) => (await database.query('webhooks.remove', REMOVE, [webhookId, sourceText(by)])).length > 0,
    rotate: (webhookId, secret, overlapMs, by) =>
      one('webhooks.rotate', audited('webhook.rotate', ROTATE, '$4'), [webhookId, secret, overlapMs, sourceText(by)]),
    async secretsOf(webhookId) {
      const [row] = await database.query<{ secret: string; old_secret: string | null }>('webhooks.secrets', SECRETS, [webhookId]);
      return row ? [row.secret, ...(row.old_secret === null ? [] : [row.old_secret])] : [];
    },
    ...createWebhookReplays(database),
    ...createWebhookQueue(database),
  };
}

function toWebhook(row: Row): Webhook {
  return {
    webhookId: row.webhook_id,
    tenantId: row.tenant_id,
    url: row.url,
    ...(row.types && { types: row.types }),
    ...(row.agents && { agents: row.agents }),
    state: row.state,
    ...(row.why !== null && { why: row.why }),
    createdAt: row.created_at.toISOString(),
    failures: row.failures,
    ...(row.failing_since && { failingSince: row.failing_since.toISOString() }),
    ...(row.old_secret_until && { oldSecretUntil: row.old_secret_until.toISOString() }),
    waiting: row.waiting,
  };
}
