import type { SecureContextOptions } from 'node:tls';
import type { EgressRule, SandboxOptions } from '../../contracts/agent.ts';
import type { Logger } from '../../platform/log.ts';
import type { AddressPolicy } from '../../network/address-policy.ts';
import type { Authority } from './authority.ts';
import type { Decisions, EgressSummary, Tally } from './decisions.ts';
import { judgeConnection } from './judge.ts';
import type { EgressRefusal } from './http/refuse.ts';
import type { parseTarget, EgressTarget } from './rules.ts';

export interface EgressOptions {
  egress: NonNullable<SandboxOptions['egress']>;
  policy: AddressPolicy;
  authority: Authority;
  readEnvironment: (name: string) => string | undefined;
  /** Takes secrets of the sandbox out of what is reported: the guest may write them where a host belongs. */
  mask?: (text: string) => string;
  /** Called from time to time with a summary of the decisions. */
  tell: (summary: EgressSummary) => Promise<void>;
  log: Logger;
  /** Certificate authorities that are trusted instead of the default ones. */
  trust?: Pick<SecureContextOptions, 'ca'>;
  patience?: Partial<Patience>;
}
/** Time limits for the guest's connections, so that slow ones cannot use up all connections. */
export interface Patience {
  /** Time without any byte before a request, and between two requests. */
  idleMs: number;
  /** From the first byte of a request to the end of its head. */
  headMs: number;
  /** From the answer to a CONNECT until TLS or HTTP is recognized. */
  helloMs: number;
}
export interface EgressParts extends EgressOptions {
  decisions: Decisions;
  patience: Patience;
}
type Admitted = { refusal: EgressRefusal } | { target: EgressTarget; rule: EgressRule; addresses: string[]; tally: Tally };

/** Decides about a connection and records the decision. `written` is the target as the guest wrote it. */
export async function admit({ egress, policy, decisions }: EgressParts, target: ReturnType<typeof parseTarget>, written: string): Promise<Admitted> {
  if ('refusal' in target) {
    decisions.note(written, target.refusal);
    return { refusal: { status: 403, why: target.refusal } };
  }
  const verdict = await judgeConnection(egress, target, policy);
  if (verdict.allowed) return { target, rule: verdict.rule, addresses: verdict.addresses, tally: decisions.note(target) };
  decisions.note(target, verdict.why);
  return { refusal: { status: verdict.status, why: `${target.host}:${target.port}: ${verdict.why}` } };
}
