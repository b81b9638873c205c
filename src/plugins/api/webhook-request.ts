/** A request of an outside system that is to be given to a function of a plugin. */
export interface WebhookDelivery {
  requestId: string;
  tenantId: string;
  endpoint: string;
  headers: Record<string, string>;
  body: Buffer;
  /** How often the function certainly was not called. */
  attempts: number;
  /** When a worker first was about to call the function; absent when none was. */
  begunAt?: Date;
  /** Called before the function is called. Returns when a worker first was about to call it; undefined when its address has been removed, or another worker has ended the request or this attempt at it. */
  begin(): Promise<Date | undefined>;
  /** Aborts when this worker ends: another one goes on. */
  signal: AbortSignal;
}

/** `failed`: the function was called, or must not be called any more. `postponed`: it was certainly not called, and may be later. `dropped`: it is no work of this worker any more. */
export type WebhookOutcome = { outcome: 'delivered' | 'dropped' } | { outcome: 'failed' | 'postponed'; problem: string };

export interface Delivered {
  result: WebhookOutcome;
  /** Removes what is kept of the request, once the outcome is stored. */
  forget: () => Promise<void>;
}
