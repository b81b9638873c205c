import { inTime } from '../../common/in-time.ts';
import type { EgressRule, SandboxOptions } from '../../contracts/agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { AddressPolicy } from '../../network/address-policy.ts';
import { findRule, type EgressTarget } from './rules.ts';

/** `addresses` are checked; connections may go only to these. `status` is the proxy's answer. */
export type Verdict = { allowed: true; rule: EgressRule; addresses: string[] } | { allowed: false; status: 403 | 502; why: string };

export const RESOLVE_TIMEOUT_MS = 10_000;

/** Decides about one connection. The list is checked first: names that are not on it are not resolved. */
export async function judgeConnection(egress: NonNullable<SandboxOptions['egress']>, target: EgressTarget, policy: AddressPolicy): Promise<Verdict> {
  const match = findRule(egress, target);
  if ('refusal' in match) return { allowed: false, status: 403, why: match.refusal };
  try {
    return { allowed: true, rule: match.rule, addresses: await inTime(policy.addressesOf(target.host), RESOLVE_TIMEOUT_MS, () => new Error('late')) };
  } catch (error) {
    const { problem } = isFailure(error) ? error.values : {};
    return { allowed: false, status: isFailure(error, 'NETWORK_REFUSED') ? 403 : 502, why: String(problem ?? 'the name could not be looked up') };
  }
}
