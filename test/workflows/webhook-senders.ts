import type { Client, WorkflowHandle } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { makeId } from '../../src/contracts/ids.ts';
import { webhookQueue, type DeliverWebhooksResult } from '../../src/contracts/webhook.ts';

/** The world of senders of webhooks: what comes of each run, and how many were asked for. */
export class WebhookSenders {
  /** In turn; then `ended`. */
  results: DeliverWebhooksResult[] = [];
  runs = 0;

  /** Runs their activity on their own task queue, until the returned function is called. */
  async serve(connection: NativeConnection, taskQueue: string): Promise<() => Promise<void>> {
    const deliverWebhooks = async (): Promise<DeliverWebhooksResult> => {
      this.runs += 1;
      return this.results.shift() ?? { outcome: 'ended' };
    };
    const activities = { deliverWebhooks };
    const worker = await Worker.create({ connection, taskQueue: webhookQueue(taskQueue), identity: 'test', activities, shutdownGraceTime: 100 });
    const done = worker.run();
    return async () => {
      worker.shutdown();
      await done;
    };
  }

  start({ client, taskQueue }: { client: Client; taskQueue: string }): Promise<WorkflowHandle> {
    const workflowId = `webhook:${makeId('hook', Date.now(), Math.random)}`;
    return client.workflow.start('webhookSender', { taskQueue, workflowId, args: [{ webhookId: workflowId }] });
  }
}
