import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowClient } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { createDeliverWebhooks } from '../activities/deliver-webhooks.ts';
import { translated } from '../activities/failures.ts';
import type { WebhookActivities } from '../contracts/webhook.ts';
import { webhookQueue, webhookWorkflowId } from '../contracts/webhook.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../store/store.ts';
import { webhookTerms, type WebhookSettings } from '../webhooks/webhook-terms.ts';

export interface WebhookWorkerParts {
  connection: NativeConnection;
  dataConverter: DataConverter;
  workflows: Pick<WorkflowClient, 'signalWithStart'>;
  config: Pick<Config, 'TEMPORAL_NAMESPACE' | 'LONGSHORE_TASK_QUEUE'> & WebhookSettings;
  store: Pick<Store, 'webhooks'>;
  log: Logger;
}

/** How often a worker looks for endpoints for which events wait: one query, which reads an empty table where there are no webhooks. */
const LOOK_EVERY_MS = 500;
/** Endpoints that one worker sends to at a time. */
const AT_ONCE = 100;

/** Sends events to endpoints on a task queue of its own, and wakes the senders of those for which events wait. `start` it once; then `stop` it. */
export async function createWebhookWorker(parts: WebhookWorkerParts): Promise<{ start(): { stop(): Promise<void> } }> {
  const { connection, dataConverter, config, store, log } = parts;
  const activities: WebhookActivities = { deliverWebhooks: translated(createDeliverWebhooks({ store, log, webhooks: webhookTerms(config) })) };
  const worker = await Worker.create({
    connection,
    dataConverter,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: webhookQueue(config.LONGSHORE_TASK_QUEUE),
    activities: { ...activities },
    maxConcurrentActivityTaskExecutions: AT_ONCE,
    maxHeartbeatThrottleInterval: '1s',
    defaultHeartbeatThrottleInterval: '1s',
    shutdownGraceTime: 0,
    shutdownForceTime: '60s',
  });
  return {
    start() {
      const stopped = new AbortController();
      const running = worker.run().catch((error: unknown) => log.error({ err: error }, 'this worker sends no webhooks any more'));
      const looking = lookForDue(parts, stopped.signal);
      return {
        async stop() {
          stopped.abort();
          if (worker.getState() === 'RUNNING') worker.shutdown();
          await Promise.all([running, looking]);
        },
      };
    },
  };
}

async function lookForDue({ workflows, config, store, log }: WebhookWorkerParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const due = await store.webhooks.claimDue();
      await Promise.all(due.map((webhookId) => wakeSender(workflows, config.LONGSHORE_TASK_QUEUE, webhookId)));
    } catch (error) {
      log.debug({ err: error }, 'senders of webhooks could not be woken; this is tried again');
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function wakeSender(workflows: WebhookWorkerParts['workflows'], taskQueue: string, webhookId: string): Promise<void> {
  await workflows.signalWithStart('webhookSender', {
    workflowId: webhookWorkflowId(webhookId),
    taskQueue,
    args: [{ webhookId }],
    signal: 'wake',
    signalArgs: [],
  });
}
