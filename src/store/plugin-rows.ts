import type { PermissionBound } from '../contracts/agent.ts';
import type { JsonObject } from '../contracts/json.ts';

/** Where a plugin's entries lie: with a conversation, with a user, with a user in a conversation, or with the plugin in its tenant. */
export interface PluginShelf {
  pluginId: string;
  tenantId: string;
  conversationId?: string;
  userId?: string;
}

/** What operators want of a plugin. */
export interface PluginSettings {
  pluginId: string;
  enabled: boolean;
  /** As it was written: secrets are references to variables, `${env.NAME}`. */
  config: JsonObject;
  /** Grows by one with each change; 0 was never configured. */
  configVersion: number;
  /** Why the newest change of the configuration was taken back. */
  configProblem?: string;
  /** Grows with each wish to load the plugin again. */
  reloads: number;
  /** What operators granted, besides what agents' files do. */
  granted: PermissionBound;
  updatedAt: string;
}

/** `failed`: its tools cannot be called. A `loaded` one may have an error too: that of a newer version which could not take its place. */
export type PluginHealth = 'loaded' | 'disabled' | 'failed';

/** What a host's workers say of a plugin. */
export interface PluginReport {
  /** As agents name it. */
  name: string;
  health: PluginHealth;
  /** It has no process until it is called again. */
  asleep?: true;
  /** Absent where the plugin could not even say its id. */
  pluginId?: string;
  version?: string;
  dialect?: string;
  description?: string;
  tools: string[];
  /** What it asks for, with the variables of its `environment`. */
  permissions: JsonObject;
  /** What of that no operator granted; of the newest version, where that could not take the place of the one at work. */
  ungranted?: JsonObject;
  /** The worker refuses what is `ungranted`; without it the plugin has it all the same, as in development. */
  denied?: true;
  configSchema?: JsonObject;
  /** Version of the configuration that it works with. */
  configVersion?: number;
  alerts: { level: 'info' | 'warning' | 'error'; text: string; at: string }[];
  error?: string;
}

/** A report as it is kept. */
export interface KeptPluginReport extends PluginReport {
  hostId: string;
  /** Since when it is so. */
  at: string;
  /** No worker of that host has told of itself for some minutes, so nobody knows how it is now. */
  away?: true;
}
