import type { EgressRule } from '../contracts/agent.ts';
import type { FreezeOptions } from '../sandbox/api/host-sandboxes.ts';
import type { ForkOptions } from './option-types.ts';
import { options, parseArguments, type Parameters } from '../sandbox/options/parse.ts';
import { egress } from './open-options.ts';
import { lifetime, oneOf, snapshotName, whole } from '../sandbox/options/values.ts';

const MOST_FORKS = 32;

interface ControlArguments {
  keepalive: [milliseconds: number];
  freeze: [options: FreezeOptions | undefined];
  snapshot: [options: { name?: string } | undefined];
  fork: [options: ForkOptions | undefined];
  setEgress: [rules: (string | EgressRule)[]];
}
const CONTROL: Record<keyof ControlArguments, Parameters> = {
  keepalive: { milliseconds: lifetime },
  freeze: { options: options({ mode: oneOf(['idle', 'pause'], 'a mode').optional() }).optional() },
  snapshot: { options: options({ name: snapshotName.optional() }).optional() },
  fork: { options: options({ count: whole({ min: 1, max: MOST_FORKS }).optional(), ttlMs: lifetime.optional() }).optional() },
  setEgress: { rules: egress },
};

/** Parses the arguments of a method of `SandboxControl`. @throws INVALID_ARGUMENT */
export function parseControl<M extends keyof ControlArguments>(method: M, given: unknown[]): ControlArguments[M] {
  return parseArguments(method, CONTROL[method], given) as ControlArguments[M];
}
