import { name, read } from '../../common/arguments.ts';
import { inTimeOr } from '../../common/in-time.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { AuditSource } from '../../contracts/audit.ts';
import { failure } from '../../contracts/errors.ts';
import { makeId } from '../../contracts/ids.ts';
import { webhookWorkflowId, type WebhookPayload } from '../../contracts/webhook.ts';
import type { Store } from '../../store/store.ts';
import type { TemporalLink } from '../temporal/temporal.ts';
import { makeWebhookSecret } from '../../webhooks/secret.ts';
import { openEndpoint } from '../../webhooks/send-message.ts';
import { attemptOptions, createWebhookOptions, overlapOf, readAttemptCursor, replayOptions, updateWebhookOptions, type Replay } from './webhook-arguments.ts';
import type { Webhooks, WebhookTest } from './webhook-types.ts';

export interface WebhookCallParts {
  store: Pick<Store, 'webhooks'>;
  temporal: Pick<TemporalLink, 'client'>;
  /** @throws AGENT_NOT_FOUND for the first that does not exist */
  checkAgents: (ids: string[]) => Promise<void>;
  /** Addresses that endpoints may have although they are not public. */
  webhookAddresses?: string[];
}

/** Each event of a tenant is queued for each of its endpoints. */
const MOST_PER_TENANT = 20;
const DEFAULT_PAGE = 50;
const DEFAULT_OVERLAP_MS = 24 * 60 * 60_000;
const MOST_REPLAYED = 100_000;
/** A worker wakes what this call does not reach. */
const WAKE_LIMIT_MS = 2_000;

export function createWebhookCalls({ store: { webhooks }, temporal, checkAgents, webhookAddresses = [] }: WebhookCallParts, by: AuditSource): Webhooks {
  const found = async <T>(webhookId: string, call: (webhookId: string) => Promise<T | undefined>): Promise<T> => {
    const id = read('webhookId', name, webhookId);
    const result = await call(id);
    if (result === undefined || result === false) throw failure('WEBHOOK_NOT_FOUND', { webhookId: id });
    return result;
  };
  return {
    async create(options) {
      const { tenant: tenantId = 'default', ...rest } = createWebhookOptions(options);
      // With a misspelt agent it would never get a message, and nothing would say so.
      await checkAgents(rest.agents ?? []);
      const secret = makeWebhookSecret();
      const webhookId = makeId('hook', Date.now(), Math.random);
      const made = await webhooks.create({ webhookId, tenantId, secret, ...withoutUndefined(rest) }, MOST_PER_TENANT, by);
      if (!made) throw failure('WEBHOOK_LIMIT', { tenant: tenantId, limit: MOST_PER_TENANT });
      return { ...made, secret };
    },
    get: (webhookId) => found(webhookId, (id) => webhooks.get(id)),
    list: async (tenant) => webhooks.list(tenant === undefined ? undefined : read('tenant', name, tenant)),
    async update(webhookId, change) {
      const given = withoutUndefined(updateWebhookOptions(change));
      if (given.agents) {
        // One that it has may be gone by now: its conversations go on, and so do their messages.
        const { agents: before = [] } = await found(webhookId, (id) => webhooks.get(id));
        await checkAgents(given.agents.filter((agent) => !before.includes(agent)));
      }
      return found(webhookId, (id) => webhooks.change(id, given, by));
    },
    async delete(webhookId) {
      await found(webhookId, (id) => webhooks.remove(id, by));
      await inTimeOr(wakeSender(temporal, webhookId), WAKE_LIMIT_MS, undefined).catch(() => undefined);
    },
    enable: (webhookId) => found(webhookId, (id) => webhooks.change(id, { state: 'active' }, by)),
    async attempts(webhookId, page) {
      const { limit = DEFAULT_PAGE, cursor } = attemptOptions(page);
      const { webhookId: id } = await found(webhookId, (one) => webhooks.get(one));
      const rows = await webhooks.attempts(id, withoutUndefined({ before: readAttemptCursor(cursor), limit: limit + 1 }));
      const attempts = rows.slice(0, limit);
      return withoutUndefined({ attempts, next: rows.length > limit ? attempts.at(-1)?.attemptId : undefined });
    },
    async replay(webhookId, options) {
      const what = replayOptions(options);
      const { webhookId: id } = await found(webhookId, (one) => webhooks.get(one));
      return { queued: await queueAgain(webhooks, id, what) };
    },
    async rotate(webhookId, options) {
      const overlapMs = overlapOf(options) ?? DEFAULT_OVERLAP_MS;
      const secret = makeWebhookSecret();
      return { ...(await found(webhookId, (id) => webhooks.rotate(id, secret, overlapMs, by))), secret };
    },
    async test(webhookId) {
      const { webhookId: id, url } = await found(webhookId, (one) => webhooks.get(one));
      return sendTest({ webhookId: id, url, secrets: await webhooks.secretsOf(id) }, webhookAddresses);
    },
  };
}

async function queueAgain(webhooks: Store['webhooks'], webhookId: string, what: Replay): Promise<number> {
  const call = 'since' in what ? webhooks.replaySince(webhookId, what.since, MOST_REPLAYED) : webhooks.replayFrom(webhookId, what.from, MOST_REPLAYED);
  const queued = await call;
  const options = 'options of webhooks.replay';
  if (queued === undefined) throw failure('INVALID_ARGUMENT', { what: options, problem: `more than ${MOST_REPLAYED} events are meant`, fix: 'Begin later' });
  if (queued > 0 || 'since' in what) return queued;
  const problem = 'no message of that id was queued in the last seven days';
  throw failure('INVALID_ARGUMENT', { what: `${options}.from`, problem, fix: 'List the attempts, or give a time: since' });
}

async function sendTest({ webhookId, url, secrets }: { webhookId: string; url: string; secrets: string[] }, allowAddresses: string[]): Promise<WebhookTest> {
  await using endpoint = openEndpoint(url, { allowAddresses });
  const payload: WebhookPayload = { type: 'test', timestamp: new Date().toISOString(), data: { webhookId } };
  const { outcome, tookMs, status, problem } = await endpoint.send(
    { messageId: makeId('evt', Date.now(), Math.random), body: JSON.stringify(payload) },
    secrets,
  );
  return withoutUndefined({ delivered: outcome === 'delivered', tookMs: Math.round(tookMs), status, problem });
}

/** The sender of a webhook that is gone ends when it is woken. */
async function wakeSender(temporal: WebhookCallParts['temporal'], webhookId: string): Promise<void> {
  const { workflow } = await temporal.client();
  await workflow.getHandle(webhookWorkflowId(webhookId)).signal('wake');
}
