/**
 * What may be limited. `streams` counts for each key at each process; the others count for a tenant or a key, at all processes together. `runningTurns` counts for
 * tenants alone: turns beyond it wait, where requests beyond the others are refused.
 */
export const LIMIT_NAMES = ['requestsPerMinute', 'streams', 'runningConversations', 'runningTurns', 'tokensPerDay', 'costUsdPerDay'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

/** What is absent is not limited. */
export type Limits = Partial<Record<LimitName, number>>;

/** Limits of one tenant, or of one key: what operators set in place of the defaults of the service. */
export interface LimitsOf {
  tenant?: string;
  key?: string;
  limits: Limits;
  /** ISO 8601, UTC. */
  updatedAt: string;
}
