import type { PermissionBound } from '../contracts/agent.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { OfferedWebhook } from '../contracts/plugins/webhook.ts';

/** The owner of a plugin's entries: a conversation, a user, a user in a conversation, or the plugin in its tenant. */
export interface PluginShelf {
  pluginId: string;
  tenantId: string;
  conversationId?: string;
  userId?: string;
}

/** What operators set for a plugin. */
export interface PluginSettings {
  pluginId: string;
  enabled: boolean;
  /** As it was written: secrets are references to variables, `${env.NAME}`. */
  config: JsonObject;
  /** Grows by one with each change; 0 means never configured. */
  configVersion: number;
  /** Why the newest change of the configuration was reverted. */
  configProblem?: string;
  /** Grows with each request to load the plugin again. */
  reloads: number;
  /** Permissions that operators granted, in addition to those in agents' files. */
  granted: PermissionBound;
  updatedAt: string;
}

/** `failed`: its tools cannot be called. A `loaded` plugin may have an error too, of a newer version that could not replace it. */
export type PluginHealth = 'loaded' | 'disabled' | 'failed';

/** What a host's workers report about a plugin. */
export interface PluginReport {
  /** The name that agents use for it. */
  name: string;
  health: PluginHealth;
  /** It has no process until its next call. */
  asleep?: true;
  /** Absent when not even the plugin's id could be read. */
  pluginId?: string;
  version?: string;
  dialect?: string;
  description?: string;
  tools: string[];
  /** Permissions that it asks for, with the variables of its `environment`. */
  permissions: JsonObject;
  /** The permissions that no operator granted. When a newer version could not replace the running one, those of the newer version. */
  ungranted?: JsonObject;
  /** The worker refuses the `ungranted` permissions. When absent, the plugin has them anyway, as in development. */
  denied?: true;
  configSchema?: JsonObject;
  /** Version of the configuration that the plugin uses. */
  configVersion?: number;
  alerts: { level: 'info' | 'warning' | 'error'; text: string; at: string }[];
  /** Functions that outside systems call. */
  webhooks?: OfferedWebhook[];
  error?: string;
}

/** A report as it is stored. */
export interface KeptPluginReport extends PluginReport {
  hostId: string;
  /** When this state began. */
  at: string;
  /** No worker of that host has reported for some minutes, so the current state is unknown. */
  away?: true;
}
