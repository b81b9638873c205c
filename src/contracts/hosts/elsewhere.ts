/** Type of the failure that tells a workflow to repeat an activity on the queue of another host. */
export const SANDBOX_ELSEWHERE = 'SandboxElsewhere';

/** Type of the failure that tells a workflow to let any worker do an activity: the host that it was sent to does not reach Postgres, and may be given up. */
export const HOST_CUT_OFF = 'HostCutOff';

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
