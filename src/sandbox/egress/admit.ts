import type { SecureContextOptions } from 'node:tls';
import type { EgressRule, SandboxOptions } from '../../contracts/agent.ts';
import type { Logger } from '../../platform/log.ts';
import type { AddressPolicy } from '../../network/address-policy.ts';
import type { Authority } from './authority.ts';
import type { Decisions, EgressSummary, Tally } from './decisions.ts';
import { judge } from './judge.ts';
import type { Refusal } from './http/refuse.ts';
import type { parseTarget, Target } from './rules.ts';

export interface EgressOptions {
  egress: NonNullable<SandboxOptions['egress']>;
  policy: AddressPolicy;
  authority: Authority;
  readEnvironment: (name: string) => string | undefined;
  /** Told what was decided, from time to time. */
  tell: (summary: EgressSummary) => Promise<void>;
  log: Logger;
  /** Certificates that hosts are trusted by in place of the usual ones. */
  trust?: Pick<SecureContextOptions, 'ca'>;
  patience?: Partial<Patience>;
}
/** How long the guest's connections may take, so that slow ones cannot hold all that there are. */
export interface Patience {
  /** Without any byte before a request, and between two. */
  idleMs: number;
  /** From the first byte of a request to the end of its head. */
  headMs: number;
  /** From the answer to a CONNECT to the end of what tells TLS and HTTP apart. */
  helloMs: number;
}
export interface EgressParts extends EgressOptions {
  decisions: Decisions;
  patience: Patience;
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
