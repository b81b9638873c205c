import type { AuditSource } from '../../contracts/audit.ts';
import { DELIVERED_WITHIN_HOURS, MOST_A_MINUTE, MOST_WAITING, MOST_WAITING_BYTES, type PluginWebhook } from '../../contracts/plugins/webhook.ts';
import type { Database } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';
import { insertAudit } from './audit-sql.ts';
import { sourceText } from './audit.ts';

/** Whose function an address leads to. */
export interface WebhookPlace {
  webhookId: string;
  pluginId: string;
  tenantId: string;
  endpoint: string;
}

/** A request that a worker is to deliver. */
export interface PluginRequest {
  requestId: string;
  endpoint: string;
  headers: Record<string, string>;
  body: Buffer;
  attempts: number;
  /** When a worker first was about to call the function; absent when none was. */
  begunAt?: Date;
}

export interface NewRequest {
  requestId: string;
  /** SHA-256 of the id that the sender has given it. */
  senderSha256?: Buffer;
  headers: Record<string, string>;
  body: Buffer;
}

export interface PluginWebhookRows {
  /** Undefined when the plugin has `most` of them for the tenant. */
  add(webhook: WebhookPlace & { secretSha256: Buffer }, most: number, by: AuditSource): Promise<PluginWebhook | undefined>;
  /** Oldest first. */
  list(pluginId: string): Promise<PluginWebhook[]>;
  /** Removes an address, and the requests that wait for it. False when there is none. */
  remove(pluginId: string, webhookId: string, by: AuditSource): Promise<boolean>;
  find(webhookId: string): Promise<(WebhookPlace & { secretSha256: Buffer }) | undefined>;
  /** Stores a request. `known`: it was sent before. `requestId` is that of the request that is stored. */
  accept(webhookId: string, request: NewRequest): Promise<{ outcome: 'accepted' | 'known'; requestId: string } | { outcome: 'full' | 'often' | 'ended' }>;
  /** The plugins and tenants for which requests wait that may be taken now. */
  due(): Promise<{ pluginId: string; tenantId: string }[]>;
  /** Takes a request for 15 seconds: the first of an address that waits. */
  claim(of: { pluginId: string; tenantId: string }): Promise<PluginRequest | undefined>;
  /** Gives a request back: it may be taken again in a second. */
  release(requestId: string): Promise<void>;
  /** Keeps a request for another 15 seconds. */
  hold(requestId: string): Promise<void>;
  /**
   * Notes that the function is about to be called, and returns when that was first noted. Undefined when the address was removed meanwhile, or another worker has
   * ended the request or this attempt at it.
   */
  begin(request: Pick<PluginRequest, 'requestId' | 'attempts'>): Promise<Date | undefined>;
  /** Notes how a request has ended; `problem`: it has failed. Only the first time counts. */
  end(requestId: string, problem?: string): Promise<void>;
  /** The function was certainly not called: the request waits for so long, and then it is another attempt. */
  postpone(request: Pick<PluginRequest, 'requestId' | 'attempts'>, waitMs: number): Promise<void>;
  /** Ends those that have waited for too long, and removes those that ended a day ago. */
  sweep(): Promise<void>;
}

const PLACE = `webhook_id as "webhookId", plugin_id as "pluginId", tenant_id as "tenantId", endpoint`;
const AUDITED = {
  from: 'changed',
  tenant: 'tenant_id',
  target: 'plugin_id',
  details: `json_build_object('webhookId', webhook_id, 'endpoint', endpoint)`,
} as const;
const ADD = `with changed as (
    insert into plugin_webhooks (webhook_id, tenant_id, plugin_id, endpoint, secret_sha256)
    select $1, $2, $3, $4::json #>> '{}', $5 where (select count(*) < $6 from plugin_webhooks where plugin_id = $3 and tenant_id = $2) returning *
  ), noted as (${insertAudit({ ...AUDITED, action: 'plugin.webhook-add', source: '$7' })})
  select created_at as "createdAt" from changed`;
const LIST = `select ${PLACE}, created_at as "createdAt", last_at as "lastAt", delivered::float8 as delivered, failed::float8 as failed, problem,
    (select count(*)::float8 from plugin_requests r where r.webhook_id = w.webhook_id and r.state = 'waiting') as waiting
  from plugin_webhooks w where plugin_id = $1 order by created_at, webhook_id`;
const REMOVE = `with changed as (delete from plugin_webhooks where webhook_id = $2 and plugin_id = $1 returning *),
  noted as (${insertAudit({ ...AUDITED, action: 'plugin.webhook-remove', source: '$3' })})
  select 1 from changed`;
const FIND = `select ${PLACE}, secret_sha256 as "secretSha256" from plugin_webhooks where webhook_id = $1`;
const ACCEPT = `select outcome, accepted_id as "requestId" from longshore_accept_plugin_request($1, $2, $3, $4, $5, ${MOST_WAITING}, ${MOST_WAITING_BYTES}, ${MOST_A_MINUTE})`;
/** Those of an address come one after the other. */
const FIRST = `r.state = 'waiting' and r.due_at <= clock_timestamp()
  and not exists (select from plugin_requests e where e.webhook_id = r.webhook_id and e.state = 'waiting' and e.number < r.number)`;
const DUE = `select distinct w.plugin_id as "pluginId", w.tenant_id as "tenantId" from plugin_requests r join plugin_webhooks w on w.webhook_id = r.webhook_id where ${FIRST}`;
const HELD = `due_at = clock_timestamp() + interval '15 seconds'`;
const CLAIM = `update plugin_requests c set ${HELD} from plugin_webhooks w
  where w.webhook_id = c.webhook_id and c.request_id = (
    select r.request_id from plugin_requests r join plugin_webhooks o on o.webhook_id = r.webhook_id
    where o.plugin_id = $1 and o.tenant_id = $2 and ${FIRST} order by r.number limit 1 for update of r skip locked)
  returning c.request_id as "requestId", w.endpoint, c.headers, c.body, c.attempts, c.begun_at as "begunAt"`;
const HOLD = `update plugin_requests set ${HELD} where request_id = $1 and state = 'waiting'`;
const RELEASE = `update plugin_requests set due_at = clock_timestamp() + interval '1 second' where request_id = $1 and state = 'waiting'`;
const BEGIN = `update plugin_requests set begun_at = coalesce(begun_at, clock_timestamp()) where request_id = $1 and attempts = $2 and state = 'waiting' returning begun_at as "begunAt"`;
/** What it said is not needed any more. */
const ENDED = `ended_at = clock_timestamp(), headers = null, body = null`;
const END = `with ended as (
    update plugin_requests set state = case when $2::text is null then 'delivered' else 'failed' end, ${ENDED}
    where request_id = $1 and state = 'waiting' returning webhook_id
  ) update plugin_webhooks w set problem = $2::json #>> '{}', delivered = delivered + (case when $2::text is null then 1 else 0 end),
      failed = failed + (case when $2::text is null then 0 else 1 end)
    from ended where w.webhook_id = ended.webhook_id`;
const POSTPONE = `update plugin_requests set attempts = attempts + 1, begun_at = null, due_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where request_id = $1 and attempts = $2 and state = 'waiting'`;
const NOT_CALLED = `it could not be delivered within ${DELIVERED_WITHIN_HOURS} hours; its plugin may not have been loaded`;
const NOT_KNOWN = `its delivery had begun, and no worker could tell within ${DELIVERED_WITHIN_HOURS} hours how it went`;
const SWEEP = `with late as (
    update plugin_requests r set state = 'failed', ${ENDED} where state = 'waiting' and received_at < clock_timestamp() - interval '${DELIVERED_WITHIN_HOURS} hours'
      and due_at <= clock_timestamp() returning webhook_id, begun_at
  ), counted as (
    select webhook_id, count(*) as number, bool_or(begun_at is not null) as begun from late group by webhook_id
  ), noted as (
    update plugin_webhooks w set failed = failed + c.number, problem = case when c.begun then '${NOT_KNOWN}' else '${NOT_CALLED}' end
    from counted c where w.webhook_id = c.webhook_id
  ) delete from plugin_requests where ended_at < clock_timestamp() - interval '1 day'`;

type Row = WebhookPlace & { createdAt: Date; lastAt: Date | null; waiting: number; delivered: number; failed: number; problem: string | null };
type AcceptRow = { outcome: string; requestId: string | null };
type Claimed = Omit<PluginRequest, 'begunAt'> & { begunAt: Date | null };

export function createPluginWebhooks({ database }: { database: Database }): PluginWebhookRows {
  return {
    async add({ webhookId, tenantId, pluginId, endpoint, secretSha256 }, most, by) {
      const values = [webhookId, tenantId, pluginId, toJsonText(endpoint), secretSha256, most, sourceText(by)];
      // Of two at once, neither would count the other.
      const [row] = await database.withLock(`webhooks of ${JSON.stringify([tenantId, pluginId])}`, 'alone', () =>
        database.query<{ createdAt: Date }>('pluginWebhooks.add', ADD, values),
      );
      return row && toWebhook({ webhookId, tenantId, pluginId, endpoint, ...row, lastAt: null, waiting: 0, delivered: 0, failed: 0, problem: null });
    },
    list: async (pluginId) => (await database.query<Row>('pluginWebhooks.list', LIST, [pluginId])).map(toWebhook),
    remove: async (pluginId, webhookId, by) => (await database.query('pluginWebhooks.remove', REMOVE, [pluginId, webhookId, sourceText(by)])).length > 0,
    find: async (webhookId) => (await database.query<WebhookPlace & { secretSha256: Buffer }>('pluginWebhooks.find', FIND, [webhookId]))[0],
    async accept(webhookId, { requestId, senderSha256, headers, body }) {
      const values = [webhookId, requestId, senderSha256 ?? null, toJsonText(headers), body];
      const [row] = await database.query<AcceptRow>('pluginWebhooks.accept', ACCEPT, values);
      if (!row || row.requestId === null) return { outcome: (row?.outcome ?? 'ended') as 'full' | 'often' | 'ended' };
      return { outcome: row.outcome as 'accepted' | 'known', requestId: row.requestId };
    },
    due: () => database.query<{ pluginId: string; tenantId: string }>('pluginWebhooks.due', DUE, []),
    async claim({ pluginId, tenantId }) {
      const [row] = await database.query<Claimed>('pluginWebhooks.claim', CLAIM, [pluginId, tenantId]);
      if (!row) return undefined;
      const { begunAt, ...request } = row;
      return { ...request, ...(begunAt && { begunAt }) };
    },
    async release(requestId) {
      await database.query('pluginWebhooks.release', RELEASE, [requestId]);
    },
    async hold(requestId) {
      await database.query('pluginWebhooks.hold', HOLD, [requestId]);
    },
    async begin({ requestId, attempts }) {
      const [row] = await database.query<{ begunAt: Date }>('pluginWebhooks.begin', BEGIN, [requestId, attempts]);
      return row?.begunAt;
    },
    async end(requestId, problem) {
      await database.query('pluginWebhooks.end', END, [requestId, problem === undefined ? null : toJsonText(problem)]);
    },
    async postpone({ requestId, attempts }, waitMs) {
      await database.query('pluginWebhooks.postpone', POSTPONE, [requestId, attempts, waitMs]);
    },
    async sweep() {
      await database.query('pluginWebhooks.sweep', SWEEP, []);
    },
  };
}

function toWebhook({ pluginId, createdAt, lastAt, problem, ...webhook }: Row): PluginWebhook {
  return {
    ...webhook,
    plugin: pluginId,
    createdAt: createdAt.toISOString(),
    ...(lastAt && { lastAt: lastAt.toISOString() }),
    ...(problem !== null && { problem }),
  };
}
