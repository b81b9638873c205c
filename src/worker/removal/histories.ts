import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { SCHEDULED_WORKFLOW } from '../../contracts/schedule.ts';

/** Histories in Temporal of ended workflows. Both return false when Temporal still lists some after a while. */
export interface Histories {
  /** Removes all runs of a conversation's workflow. */
  remove(conversationId: string): Promise<boolean>;
  /** Removes the workflows by which a schedule has started conversations, or the one of a time. */
  removeRunsOf(scheduleId: string, at?: string): Promise<boolean>;
}

const POLL_MS = 100;
/** Temporal removes a history a moment after it was asked to. */
const GONE_MS = 20_000;
/** The time that Temporal gets to bring its list up to date after the end of a workflow. */
const SETTLED_MS = 3_000;
/** What has ended so long ago is settled, even if the clock of this machine is wrong by hours. */
const LONG_AGO_MS = 86_400_000;

export function createHistories(client: Client, namespace: string): Histories {
  const removeAll = async (query: string) => {
    /** By run: since when it is known to have ended. */
    const seenAt = new Map<string, number>();
    const isSettled = (runId: string, closeTime: Date) => {
      if (!seenAt.has(runId)) seenAt.set(runId, performance.now());
      return Date.now() - closeTime.getTime() >= LONG_AGO_MS || performance.now() - (seenAt.get(runId) ?? 0) >= SETTLED_MS;
    };
    const deadline = performance.now() + GONE_MS;
    for (;;) {
      let found = 0;
      for await (const { workflowId, runId, closeTime } of client.workflow.list({ query })) {
        found += 1;
        // Temporal's list follows a moment later. A workflow that is removed before the list has all of it would come back into the list, and stay.
        if (closeTime && isSettled(runId, closeTime)) await removeRun(client, namespace, { workflowId, runId });
      }
      if (found === 0 || performance.now() > deadline) return found === 0;
      await sleep(POLL_MS);
    }
  };
  return {
    remove: (conversationId) => removeAll(`WorkflowId = ${quoted(conversationId)}`),
    removeRunsOf: (scheduleId, at) => {
      const time = at === undefined ? '' : ` AND TemporalScheduledStartTime = ${quoted(at)}`;
      return removeAll(`WorkflowType = ${quoted(SCHEDULED_WORKFLOW)} AND TemporalScheduledById = ${quoted(scheduleId)}${time}`);
    },
  };
}

const NOT_FOUND = 5;

async function removeRun({ workflowService }: Client, namespace: string, workflowExecution: { workflowId: string; runId: string }): Promise<void> {
  try {
    await workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  } catch (error) {
    // It is gone already.
    if ((error as { code?: number }).code !== NOT_FOUND) throw error;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
