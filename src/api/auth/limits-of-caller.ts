import type { LimitName, Limits } from '../../contracts/limits/limits.ts';
import type { LimitRows, Subject } from '../../store/service/limits.ts';
import type { Caller } from './caller.ts';

/** Limits that hold for a caller: of its key, if operators set some, and of its tenant. */
export interface HeldLimits {
  subject: Subject;
  limits: Limits;
}

export type LimitsOfCaller = (caller: Pick<Caller, 'keyId' | 'tenantId'>) => Promise<readonly HeldLimits[]>;

/** A change by an operator is in force after so many milliseconds at every process. */
const KEPT_MS = 5_000;
const KEPT_CALLERS = 10_000;

/** Reads limits, and keeps those of a caller for a moment. `defaults`: those of tenants for whom nothing else was set. */
export function createLimitsOfCaller(rows: Pick<LimitRows, 'find'>, defaults: Limits): LimitsOfCaller {
  const kept = new Map<string, { until: number; held: Promise<readonly HeldLimits[]> }>();
  return ({ keyId, tenantId }) => {
    const name = JSON.stringify([keyId, tenantId]);
    const known = kept.get(name);
    if (known && known.until > performance.now()) return known.held;
    // Everything is read again within seconds anyway.
    if (kept.size >= KEPT_CALLERS) kept.clear();
    const held = read(rows, { keyId, tenantId }, defaults);
    kept.set(name, { until: performance.now() + KEPT_MS, held });
    held.catch(() => kept.delete(name));
    return held;
  };
}

async function read(
  rows: Pick<LimitRows, 'find'>,
  { keyId, tenantId }: { keyId: string; tenantId: string | undefined },
  defaults: Limits,
): Promise<HeldLimits[]> {
  const key = { key: keyId };
  if (tenantId === undefined) return [{ subject: key, limits: (await rows.find([key]))[0] ?? {} }];
  const tenant = { tenant: tenantId };
  const [ofKey = {}, ofTenant] = await rows.find([key, tenant]);
  return [
    { subject: key, limits: ofKey },
    { subject: tenant, limits: { ...defaults, ...ofTenant } },
  ];
}

/** The least of the numbers that a limit has. */
export function leastOf(held: readonly HeldLimits[], name: LimitName): number | undefined {
  const numbers = held.flatMap(({ limits }) => limits[name] ?? []);
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}
