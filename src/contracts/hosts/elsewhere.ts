import { failure, isFailure } from '../errors.ts';

/** Type of the failure that tells a workflow to repeat an activity on the queue of another host. */
export const SANDBOX_ELSEWHERE = 'SandboxElsewhere';

/** A sandbox that is on another host than the one that was asked. */
export interface Elsewhere {
  sandboxId: string;
  host: string;
  /** After this time a host that does not answer counts as lost. Milliseconds. */
  waitMs: number;
}

/** Queue of the activities of one host, besides the one that all workers poll. */
export function hostQueue(taskQueue: string, hostId: string): string {
  return `${taskQueue}.${hostId}`;
}

export function elsewhereFailure({ sandboxId, host, waitMs }: Elsewhere, here: string): Error {
  const error = failure('SANDBOX_UNREACHABLE', { sandboxId, problem: `it is on host "${host}", this is "${here}"; use it there` });
  Object.assign(error.values, { host, waitMs });
  return error;
}

/** Where the sandbox is, when the error says that it is on another host that is there. */
export function elsewhereOf(error: unknown): Elsewhere | undefined {
  if (!isFailure(error, 'SANDBOX_UNREACHABLE')) return undefined;
  const { sandboxId, host, waitMs } = error.values;
  return typeof sandboxId === 'string' && typeof host === 'string' && typeof waitMs === 'number' ? { sandboxId, host, waitMs } : undefined;
}
