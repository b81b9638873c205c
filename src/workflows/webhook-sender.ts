import { condition, continueAsNew, defineSignal, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import type { WebhookActivities } from '../contracts/webhook.ts';
import { isObject } from '../contracts/json.ts';
import { webhookQueue } from '../contracts/webhook.ts';
import { refusedUpdate } from './messages/validate-updates.ts';

const MINUTE = 60_000;
/** Events of history after which a run gives way to the next; a run for one burst of messages has about ten. */
const LONG = 1_000;

/** Says that events wait, or that the endpoint has changed. */
const wake = defineSignal('wake');

/** Sends what waits for one endpoint, as long as there is the endpoint. It knows only when to try: what is sent, and what came of it, is in Postgres. */
export async function webhookSender(input: unknown): Promise<void> {
  const webhookId = checkInput(input);
  const { deliverWebhooks } = proxyActivities<WebhookActivities>({
    taskQueue: webhookQueue(workflowInfo().taskQueue),
    startToCloseTimeout: 2 * MINUTE,
    heartbeatTimeout: 5_000,
    retry: { initialInterval: 500, maximumInterval: 30_000 },
  });
  let isWoken = false;
  setHandler(wake, () => void (isWoken = true), { description: 'Try to send what waits for this endpoint now.' });
  while (workflowInfo().historyLength < LONG) {
    isWoken = false;
    const result = await deliverWebhooks({ webhookId });
    if (result.outcome === 'ended') return;
    if (result.outcome === 'empty') await condition(() => isWoken);
    if (result.outcome === 'retry') await condition(() => isWoken, result.afterMs, { summary: 'try to send again' });
  }
  await continueAsNew<typeof webhookSender>({ webhookId });
}

/** The input may have been written in the Temporal UI. */
function checkInput(input: unknown): string {
  const { webhookId } = isObject(input) ? input : {};
  if (typeof webhookId === 'string') return webhookId;
  throw refusedUpdate('INVALID_ARGUMENT', { what: 'webhookSender', problem: 'it names no webhook', fix: 'Make webhooks with: longshore webhooks create' });
}
