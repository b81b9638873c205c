import type { PermissionBound } from '../../contracts/agent.ts';
import type { ApiKey, Scope } from '../../contracts/api-key.ts';
import type { AuditEntry } from '../../contracts/audit.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Limits, LimitsOf } from '../../contracts/limits/limits.ts';
import type { PluginWebhook } from '../../contracts/plugins/webhook.ts';
import type { UsageGroup } from '../../contracts/usage.ts';
import type { KeptPluginReport } from '../../store/plugin-rows.ts';

export interface UsageOptions {
  /** A Date, or a text such as `2027-01-31` or `2027-01-31T09:00:00Z`. Default: 30 days before `to`. */
  from?: string | Date | undefined;
  /** The first moment that does not count. Default: now. */
  to?: string | Date | undefined;
  /** One line for each. Default `day`. */
  group?: UsageGroup | undefined;
  agent?: string | undefined;
  user?: string | undefined;
  tenant?: string | undefined;
  conversation?: string | undefined;
  /** Most lines. Default 100. */
  limit?: number | undefined;
}

/** A plugin of the installation. */
export interface PluginState {
  id: string;
  enabled: boolean;
  /** As it was written: secrets are references, `${env.NAME}`. */
  config: JsonObject;
  /** Grows by one with each change; 0 means never configured. */
  configVersion: number;
  /** Why the newest change of the configuration was reverted. */
  configProblem?: string;
  /** The permissions that operators granted, in addition to those in agents' files. */
  granted: PermissionBound;
  /** What the workers of each host report about it. */
  reports: KeptPluginReport[];
}

/** Plugins of the installation. Workers apply a change within seconds. A plugin that no worker has reported fails with `PLUGIN_NOT_FOUND`. */
export interface Plugins {
  list(): Promise<PluginState[]>;
  get(id: string): Promise<PluginState>;
  /** Disables a plugin for all agents, or enables it again. */
  enable(id: string, enabled: boolean): Promise<void>;
  /** Loads it again. `id` is its id, or the name that agents give it. */
  reload(id: string): Promise<void>;
  /**
   * Replaces its configuration and returns the new version; with `ifVersion`, only when that is the current version. A configuration that its schema forbids
   * fails with `INVALID_ARGUMENT`; one that a worker cannot use is reverted later, see `configProblem`.
   */
  configure(id: string, config: JsonObject, options?: { ifVersion?: number | undefined }): Promise<number>;
  /** Grants permissions to a plugin; `asked` grants all that it asks for now. Returns the permissions that this call granted. */
  grant(id: string, permissions: PermissionBound | 'asked'): Promise<PermissionBound>;
  /** Revokes permissions; without `permissions`, all of them. Returns the permissions that were revoked. */
  revoke(id: string, permissions?: PermissionBound): Promise<PermissionBound>;
  /** The addresses at which outside systems reach functions of the plugin, of all tenants, oldest first. */
  webhooks(id: string): Promise<PluginWebhook[]>;
  /**
   * Makes an address for a function that the plugin has mounted as a webhook. `path` is below the address of the HTTP service; who knows it can send requests, and
   * it is shown only now. `tenant`: whose plugin gets them; default `default`.
   */
  addWebhook(id: string, options: { endpoint: string; tenant?: string | undefined }): Promise<PluginWebhook & { path: string }>;
  /** Ends an address at once. Requests that wait for it are not delivered. */
  removeWebhook(id: string, webhookId: string): Promise<void>;
}

export interface CreateKeyOptions {
  /** For whom or what it is. */
  name: string;
  /** What it may do. */
  scopes: Scope[];
  /** The only tenant that it sees; without one, it is an operator's key and sees all. */
  tenant?: string | undefined;
  /** Milliseconds, or a text such as `90d`; absent: it does not expire. */
  expiresIn?: number | string | undefined;
}

export interface RotateKeyOptions {
  /** How long the old key still works: milliseconds, or a text such as `24h` (the default); `0` ends it at once. */
  overlap?: number | string | undefined;
  /** Only a key of this tenant. */
  tenant?: string | undefined;
}

/** Keys of the HTTP service. */
export interface Keys {
  /** Makes a key. Its `text` is what callers send, and is shown only now. */
  create(options: CreateKeyOptions): Promise<ApiKey & { text: string }>;
  /** Oldest first, with those that have ended; of one tenant when given. */
  list(tenant?: string): Promise<ApiKey[]>;
  /**
   * Makes a key with the name, scopes and tenant of another, which ends after an overlap (at `oldEndsAt`). A key that is unknown or has ended fails with
   * `KEY_NOT_FOUND`.
   */
  rotate(keyId: string, options?: RotateKeyOptions): Promise<ApiKey & { text: string; oldEndsAt: string }>;
  /** Ends a key at once. An unknown one fails with `KEY_NOT_FOUND`. */
  revoke(keyId: string): Promise<ApiKey>;
}

export interface AuditQuery {
  /** The id of who acted: of a key, a user, a conversation. */
  actor?: string | undefined;
  action?: string | undefined;
  /** The id of what was changed, such as a call, a conversation or a key. */
  target?: string | undefined;
  tenant?: string | undefined;
  /** Only rows of this time or later: ISO 8601, or an age such as `24h`. */
  since?: string | undefined;
  /** Default 50. */
  limit?: number | undefined;
  /** The `next` of the page before. */
  cursor?: string | undefined;
}

/** Limits for a tenant or a key; what is absent is not limited, or as the defaults have it. */
export interface SetLimitsOptions extends Limits {
  tenant?: string | undefined;
  /** Id of a key. */
  key?: string | undefined;
}

/** Limits of the HTTP service. */
export interface TenantLimits {
  /** Those that differ from the defaults of the service (`LONGSHORE_LIMITS`). */
  list(): Promise<LimitsOf[]>;
  /** Replaces the limits of a tenant or a key; without any, the defaults hold again. */
  set(options: SetLimitsOptions): Promise<void>;
}

/** Who changed what. Rows are added and never changed. */
export interface AuditLog {
  /** Newest first; `next` is absent on the last page. */
  list(query?: AuditQuery): Promise<{ entries: AuditEntry[]; next?: string }>;
}
