import type { SecretBox } from './secret-box.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** Webhooks whose secrets the database has only sealed, as far as there are keys. */
export function sealedWebhooks(rows: WebhookRows, box: SecretBox): WebhookRows {
  const place = (webhookId: string) => `webhook ${webhookId}`;
  const opened = (secrets: string[], webhookId: string) => secrets.map((secret) => box.open(secret, place(webhookId)));
  return {
    ...rows,
    create: (webhook, limit, by) => rows.create({ ...webhook, secret: box.seal(webhook.secret, place(webhook.webhookId)) }, limit, by),
    rotate: (webhookId, secret, overlapMs, by) => rows.rotate(webhookId, box.seal(secret, place(webhookId)), overlapMs, by),
    secretsOf: async (webhookId) => opened(await rows.secretsOf(webhookId), webhookId),
    async next(webhookId, sender, maxBytes) {
      const task = await rows.next(webhookId, sender, maxBytes);
      return task && { ...task, secrets: opened(task.secrets, webhookId) };
    },
  };
}
