import { WorkflowNotFoundError, type WorkflowClient, type WorkflowExecutionStatusName } from '@temporalio/client';

const OVER: ReadonlySet<WorkflowExecutionStatusName> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);

/** How the workflow of a conversation ended; `absent` when Temporal does not know it, or not any more. */
export async function fateOf(workflows: Pick<WorkflowClient, 'getHandle'>, conversationId: string): Promise<WorkflowExecutionStatusName | 'alive' | 'absent'> {
  try {
    const { status } = await workflows.getHandle(conversationId).describe();
    return OVER.has(status.name) ? status.name : 'alive';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'absent';
    throw error;
  }
}
