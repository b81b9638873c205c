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
