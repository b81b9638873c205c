import type { PermissionBound } from '../../contracts/agent.ts';
import type { ApiKey } from '../../contracts/api-key.ts';
import {
  auditOptions,
  configureOptions,
  flagOf,
  grantsOf,
  keyOptions,
  limitOptions,
  nameOf,
  pluginConfig,
  rotationOptions,
  scheduleNote,
  scheduleOptions,
} from '../client-arguments.ts';
import type { Schedule, ScheduleRun, Schedules, ScheduleWithRuns } from '../types/schedule-types.ts';
import type { LimitsOf } from '../../contracts/limits/limits.ts';
import type { PluginWebhook } from '../../contracts/plugins/webhook.ts';
import type { AuditEntry } from '../../contracts/audit.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { AuditLog, Keys, Plugins, PluginState, TenantLimits } from '../types/installation-types.ts';
import { checkScheduledMessage } from '../make-schedule.ts';
import { scheduleSpecOf } from '../schedule-timing.ts';
import { addWebhookOptions, webhookIdOf } from '../plugin-webhook-calls.ts';
import type { HttpLink } from './http-link.ts';

type MadeWebhook = PluginWebhook & { path: string; url: string };

const POST = 'POST' as const;
const DEFAULT_AUDITED = 50;
const MOST_PER_PAGE = 200;
const part = (text: string) => encodeURIComponent(text);

export function createHttpSchedules(link: HttpLink): Schedules {
  const at = (id: string, rest = '') => `/v1/schedules/${part(nameOf('schedule id', id))}${rest}`;
  return {
    async create(given) {
      const body = scheduleOptions(given);
      checkScheduledMessage(body.message);
      // An invalid date would be sent as null. Whether a time is over, the clock of the service says.
      scheduleSpecOf(body);
      return (await link.json('/v1/schedules', { method: POST, body })) as Schedule;
    },
    list: async () => ((await link.json('/v1/schedules')) as { schedules: Schedule[] }).schedules,
    get: async (id) => (await link.json(at(id))) as ScheduleWithRuns,
    async pause(id, options) {
      await link.json(at(id, '/pause'), { method: POST, body: scheduleNote(options) });
    },
    async resume(id) {
      await link.json(at(id, '/resume'), { method: POST, body: {} });
    },
    trigger: async (id) => (await link.json(at(id, '/trigger'), { method: POST })) as ScheduleRun,
    async delete(id) {
      await link.json(at(id), { method: 'DELETE' });
    },
  };
}

export function createHttpPlugins(link: HttpLink): Plugins {
  const at = (id: string, rest = '') => `/v1/plugins/${part(nameOf('plugin id', id))}${rest}`;
  return {
    list: async () => ((await link.json('/v1/plugins')) as { plugins: PluginState[] }).plugins,
    get: async (id) => (await link.json(at(id))) as PluginState,
    async enable(id, enabled) {
      await link.json(at(id, flagOf('enabled', enabled) ? '/enable' : '/disable'), { method: POST });
    },
    async reload(id) {
      await link.json(at(id, '/reload'), { method: POST });
    },
    async configure(id, config, options) {
      const body = { config: pluginConfig(config), ...configureOptions(options) };
      return ((await link.json(at(id, '/config'), { method: 'PUT', body })) as { configVersion: number }).configVersion;
    },
    async grant(id, permissions) {
      const body = { permissions: permissions === 'asked' ? permissions : grantsOf(permissions) };
      return ((await link.json(at(id, '/grants'), { method: POST, body })) as { permissions: PermissionBound }).permissions;
    },
    async revoke(id, permissions) {
      const body = permissions === undefined ? {} : { permissions: grantsOf(permissions) };
      return ((await link.json(at(id, '/revocations'), { method: POST, body })) as { permissions: PermissionBound }).permissions;
    },
    webhooks: async (id) => ((await link.json(at(id, '/webhooks'))) as { webhooks: PluginWebhook[] }).webhooks,
    async addWebhook(id, options) {
      const { url: _url, ...made } = (await link.json(at(id, '/webhooks'), { method: POST, body: addWebhookOptions(options) })) as MadeWebhook;
      return made;
    },
    async removeWebhook(id, webhookId) {
      await link.json(at(id, `/webhooks/${part(webhookIdOf(webhookId))}`), { method: 'DELETE' });
    },
  };
}

export function createHttpKeys(link: HttpLink): Keys {
  return {
    create: async (options) => (await link.json('/v1/keys', { method: POST, body: keyOptions(options) })) as ApiKey & { text: string },
    async list(tenant) {
      const wanted = tenant === undefined ? undefined : nameOf('tenant', tenant);
      const { keys } = (await link.json('/v1/keys')) as { keys: ApiKey[] };
      return wanted === undefined ? keys : keys.filter(({ tenantId }) => tenantId === wanted);
    },
    rotate: async (keyId, options) =>
      (await link.json(`/v1/keys/${part(nameOf('keyId', keyId))}/rotate`, { method: POST, body: rotationOptions(options) })) as ApiKey & {
        text: string;
        oldEndsAt: string;
      },
    revoke: async (keyId) => (await link.json(`/v1/keys/${part(nameOf('keyId', keyId))}`, { method: 'DELETE' })) as ApiKey,
  };
}

export function createHttpLimits(link: HttpLink): TenantLimits {
  return {
    list: async () => ((await link.json('/v1/limits')) as { limits: LimitsOf[] }).limits,
    async set(options) {
      await link.json('/v1/limits', { method: 'PUT', body: limitOptions(options) });
    },
  };
}

export function createHttpAudit(link: HttpLink): AuditLog {
  return {
    async list(given) {
      const { limit = DEFAULT_AUDITED, cursor: first, ...rest } = auditOptions(given);
      const entries: AuditEntry[] = [];
      for (let cursor = first; ;) {
        const query = new URLSearchParams(withoutUndefined({ ...rest, cursor, limit: String(Math.min(MOST_PER_PAGE, limit - entries.length)) }));
        const page = (await link.json(`/v1/audit?${query.toString()}`)) as { entries: AuditEntry[]; next?: string };
        entries.push(...page.entries);
        if (page.next === undefined || entries.length >= limit) return { ...page, entries };
        cursor = page.next;
      }
    },
  };
}
