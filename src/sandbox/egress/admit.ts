import type { SecureContextOptions } from 'node:tls';
import type { EgressRule, SandboxOptions } from '../../contracts/agent.ts';
import type { Logger } from '../../log.ts';
import type { AddressPolicy } from '../../network/address-policy.ts';
import type { Authority } from './authority.ts';
import type { Decisions, EgressSummary, Tally } from './decisions.ts';
import { judge } from './judge.ts';
import type { Refusal } from './refuse.ts';
import type { parseTarget, Target } from './rules.ts';

export interface EgressOptions {
  egress: NonNullable<SandboxOptions['egress']>;
  policy: AddressPolicy;
  authority: Authority;
  readEnvironment: (name: string) => string | undefined;
  /** Told what was decided, from time to time. */
  tell: (summary: EgressSummary) => Promise<void>;
  log: Logger;
  /** Certificates that hosts are trusted by beside the usual ones. */
  trust?: Pick<SecureContextOptions, 'ca'>;
}
export interface EgressParts extends EgressOptions {
  decisions: Decisions;
}
type Admitted = { refusal: Refusal } | { target: Target; rule: EgressRule; addresses: string[]; tally: Tally };

/** Judges a connection, and notes what came of it. `written` is what the guest asked for. */
export async function admit({ egress, policy, decisions }: EgressParts, target: ReturnType<typeof parseTarget>, written: string): Promise<Admitted> {
  if ('refusal' in target) {
    decisions.note(written, target.refusal);
    return { refusal: { status: 403, why: target.refusal } };
  }
  const verdict = await judge(egress, target, policy);
  if (verdict.allowed) return { target, rule: verdict.rule, addresses: verdict.addresses, tally: decisions.note(target) };
  decisions.note(target, verdict.why);
  return { refusal: { status: verdict.status, why: `${target.host}:${target.port}: ${verdict.why}` } };
}
