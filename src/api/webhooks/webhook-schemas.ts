import { z } from 'zod';
import type { ErrorCode } from '../../contracts/errors.ts';
import type { Webhook, WebhookAttempt } from '../../contracts/webhook.ts';
import { eventType, valuesOf } from '../routes/schemas.ts';

export const READ = { scope: 'webhooks:read' } as const;
export const WRITE = { scope: 'webhooks:write' } as const;
const errors: ErrorCode[] = ['WEBHOOK_NOT_FOUND'];
/** Of routes about one webhook. */
export const READ_ONE = { ...READ, errors };
export const WRITE_ONE = { ...WRITE, errors };
export const TAGS = ['webhooks'];
export const params = z.object({ id: z.string().meta({ description: 'Id of a webhook', example: 'hook_01kq0p0g7fm3c8w2y5t9x1' }) });

const fields = {
  webhookId: z.string(),
  tenantId: z.string(),
  url: z.string().meta({ example: 'https://hooks.example/longshore' }),
  types: z.array(eventType).optional().meta({ description: 'Absent: all types but text.delta, reasoning.delta and tool.output' }),
  agents: z.array(z.string()).optional().meta({ description: 'Absent: all agents' }),
  state: z.enum(['active', 'disabled']),
  why: z.string().optional().meta({ description: 'Why it is disabled' }),
  createdAt: z.string(),
  failures: z.int().meta({ description: 'Attempts that have failed since the last one that did not' }),
  failingSince: z.string().optional(),
  oldSecretUntil: z.string().optional().meta({ description: 'Until when the secret before the newest one signs too' }),
  waiting: z.int().meta({ description: 'Events that wait to be sent; at most 1000 are counted' }),
};
const secret = z.string().meta({ description: 'Signs the messages; shown only now', example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
export const webhook = valuesOf<Webhook>(z.object(fields).meta({ id: 'Webhook' }));
export const withSecret = valuesOf<Webhook & { secret: string }>(z.object({ ...fields, secret }).meta({ id: 'WebhookWithSecret' }));

export const attempt = valuesOf<WebhookAttempt>(
  z
    .object({
      attemptId: z.string(),
      at: z.string(),
      outcome: z.enum(['delivered', 'failed', 'dropped', 'disabled']).meta({
        description: '`dropped`: retention removed the event before it could be sent. `disabled`: the webhook was disabled after this attempt',
      }),
      messageId: z.string().optional().meta({ description: 'The webhook-id; repeated attempts have the same', example: 'evt_7_conv_01kq0p0g7fm3c8w2y5t9x1' }),
      type: eventType.optional(),
      tookMs: z.int(),
      status: z.int().optional().meta({ description: 'Of the HTTP answer, if there was one' }),
      problem: z.string().optional(),
      retryAt: z.string().optional(),
    })
    .meta({ id: 'WebhookAttempt' }),
);
export const tested = z
  .object({ delivered: z.boolean(), tookMs: z.int(), status: z.int().exactOptional(), problem: z.string().exactOptional() })
  .meta({ id: 'WebhookTest' });

export const url = z.string().meta({ description: 'An absolute http or https URL at a public address, such as https://hooks.example/longshore' });
export const types = z.array(eventType).min(1);
export const agents = z.array(z.string()).min(1);
