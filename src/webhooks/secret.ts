import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
/** Bytes of a secret, as Standard Webhooks advises. */
const LENGTH = 32;

export function makeWebhookSecret(): string {
  return PREFIX + randomBytes(LENGTH).toString('base64');
}

export interface SignedMessage {
  messageId: string;
  /** Seconds since 1970. */
  timestamp: number;
  body: string;
}

/** The value of `webhook-signature`: one signature for each secret, so that a receiver may know either while they are rotated. */
export function signatureOf({ messageId, timestamp, body }: SignedMessage, secrets: string[]): string {
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
      .update(`${messageId}.${timestamp}.${body}`)
      .digest('base64');
  return secrets.map((secret) => `v1,${sign(secret)}`).join(' ');
}
