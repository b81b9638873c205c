import type { WorkflowClient } from '@temporalio/client';
import { webhookWorkflowId } from '../contracts/webhook.ts';
import type { Store } from '../store/store.ts';
import type { Signal } from './signals.ts';

interface SenderParts {
  store: Pick<Store, 'webhooks'>;
  workflows: Pick<WorkflowClient, 'list'>;
  signal: Signal;
  taskQueue: string;
}

/** Wakes the senders of webhooks that were removed, so that they end: who removes a webhook, or a tenant with all of its webhooks, may not have reached Temporal. */
export async function endSenders({ store, workflows, signal, taskQueue }: SenderParts): Promise<void> {
  const query = `WorkflowType = 'webhookSender' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}'`;
  const senders: string[] = [];
  for await (const { workflowId } of workflows.list({ query })) senders.push(workflowId);
  const known = new Set((await store.webhooks.list()).map(({ webhookId }) => webhookWorkflowId(webhookId)));
  for (const workflowId of senders) if (!known.has(workflowId)) await signal(workflowId, 'wake');
}
