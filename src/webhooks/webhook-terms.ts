import { parseDuration } from '../common/duration.ts';
import { readAddresses } from '../network/read-addresses.ts';

/** How messages are sent, and how failures are met. */
export interface WebhookTerms {
  /** Addresses that endpoints may have although they are not public. */
  allowAddresses: string[];
  /** Milliseconds before the second attempt, the third, …; the last is that of all further ones. */
  pausesMs: number[];
  /** An endpoint that has failed for so many milliseconds is disabled. */
  giveUpMs: number;
}

export interface WebhookSettings {
  LONGSHORE_WEBHOOK_ADDRESSES?: string | undefined;
  LONGSHORE_WEBHOOK_PAUSES?: string | undefined;
  LONGSHORE_WEBHOOK_GIVE_UP?: string | undefined;
}

export const WEBHOOK_ADDRESSES = 'LONGSHORE_WEBHOOK_ADDRESSES';
export const DEFAULT_PAUSES = '5s,30s,2m,10m,30m,1h';
export const DEFAULT_GIVE_UP = '24h';

/** @throws CONFIG_INVALID, INVALID_ARGUMENT for settings that cannot be used */
export function webhookTerms(settings: WebhookSettings): WebhookTerms {
  return {
    allowAddresses: readAddresses(WEBHOOK_ADDRESSES, settings.LONGSHORE_WEBHOOK_ADDRESSES),
    pausesMs: (settings.LONGSHORE_WEBHOOK_PAUSES ?? DEFAULT_PAUSES).split(',').map((pause) => parseDuration(pause.trim())),
    giveUpMs: parseDuration(settings.LONGSHORE_WEBHOOK_GIVE_UP ?? DEFAULT_GIVE_UP),
  };
}

/** Endpoints that failed together, such as those of one host, are not tried at the same moment again. */
const JITTER = 0.1;

/** Milliseconds until the next attempt after so many that failed: what the answer asks for (`retry-after`), within the longest pause, but not less than ours. */
export function pauseAfter({ pausesMs }: WebhookTerms, failures: number, askedMs = 0, random = Math.random): number {
  const own = pausesMs[Math.min(failures, pausesMs.length) - 1] ?? 0;
  const asked = Math.min(askedMs, Math.max(...pausesMs));
  return Math.round(Math.max(own, asked) * (1 + JITTER * random()));
}
