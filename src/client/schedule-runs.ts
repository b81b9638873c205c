import { WorkflowFailedError, WorkflowNotFoundError, type Client, type ScheduleExecutionResult, type WorkflowExecutionStatusName } from '@temporalio/client';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { scheduledConversationId } from '../contracts/schedule.ts';
import type { Store } from '../store/store.ts';
import type { ScheduleRun } from './types/schedule-types.ts';

interface RunParts {
  client: Client;
  store: Pick<Store, 'conversations' | 'events'>;
}

/**
 * Returns the result of a run. Asks first for the workflow that starts the conversation: until that workflow has ended, the conversation may be only partly
 * stored.
 */
export async function runOf({ client, store }: RunParts, scheduleId: string, { scheduledAt, action }: ScheduleExecutionResult): Promise<ScheduleRun> {
  // A triggered run has a time with fractions of a second, which its workflow does not receive.
  const at = new Date(Math.floor(scheduledAt.getTime() / 1000) * 1000).toISOString();
  const conversationId = scheduledConversationId({ scheduleId, at });
  const handle = client.workflow.getHandle(action.workflow.workflowId, action.workflow.firstExecutionRunId);
  const status = await statusOf(handle);
  if (status === 'RUNNING') return { at, conversationId, outcome: 'waiting' };
  const row = status === 'COMPLETED' || status === 'FORGOTTEN' ? await store.conversations.get(conversationId) : undefined;
  if (row) {
    const lastTurn = await store.events.lastTurn(conversationId);
    return { at, conversationId, outcome: 'started', state: row.state, ...(lastTurn && { lastTurn }) };
  }
  return { at, conversationId, outcome: 'failed', problem: await problemOf(handle, status) };
}

type Handle = ReturnType<Client['workflow']['getHandle']>;
type Status = WorkflowExecutionStatusName | 'FORGOTTEN';

async function statusOf(handle: Handle): Promise<Status> {
  try {
    return (await handle.describe()).status.name;
  } catch (error) {
    // Temporal keeps ended workflows for the retention time of its namespace only.
    if (error instanceof WorkflowNotFoundError) return 'FORGOTTEN';
    throw error;
  }
}

async function problemOf(handle: Handle, status: Status): Promise<string> {
  if (status === 'TIMED_OUT') return 'no worker started it in time';
  if (status !== 'FAILED') return status === 'COMPLETED' || status === 'FORGOTTEN' ? 'its conversation is not in the database' : `its workflow is ${status}`;
  return await handle.result().then(
    () => 'unknown',
    (error: unknown) => messageOf(error instanceof WorkflowFailedError ? error.cause : error),
  );
}

/** The activity's own failure has the useful message. The failures that wrap it only say that it failed, and its cause is for operators. */
function messageOf(error: unknown): string {
  if (error instanceof TemporalFailure && !(error instanceof ApplicationFailure) && error.cause) return messageOf(error.cause);
  return error instanceof Error ? error.message : String(error);
}
