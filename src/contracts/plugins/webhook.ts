/** A function of a plugin that outside systems call. */
export interface OfferedWebhook {
  /** The name that the plugin gives it. */
  endpoint: string;
  name: string;
  description: string;
}

/** An address at which an outside system reaches a function of a plugin, for one tenant. */
export interface PluginWebhook {
  webhookId: string;
  plugin: string;
  tenantId: string;
  endpoint: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** When the newest request came; absent before the first. */
  lastAt?: string;
  /** Requests that were accepted and have not been delivered yet. */
  waiting: number;
  /** Requests whose function has returned. */
  delivered: number;
  /** Requests that could not be delivered, whose function failed, or of which it is not known whether it took effect. */
  failed: number;
  /** Why the newest of those has failed; absent when a later one was delivered. */
  problem?: string;
}

/** Bytes of the body of a request. */
export const MOST_BODY_BYTES = 1_000_000;
/** Requests of an address that may wait. */
export const MOST_WAITING = 1_000;
/** Bytes of their bodies. */
export const MOST_WAITING_BYTES = 50_000_000;
/** Requests that an address takes within a minute. */
export const MOST_A_MINUTE = 120;
/** Addresses of a plugin, for one tenant. */
export const MOST_WEBHOOKS = 20;
/** A request that could not be delivered for so long has failed. */
export const DELIVERED_WITHIN_HOURS = 24;
