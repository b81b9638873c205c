import { hasSecret, readKeyText } from '../../client/key-text.ts';
import { failure } from '../../contracts/errors.ts';
import type { PluginWebhookRows, WebhookPlace } from '../../store/service/plugin-webhooks.ts';
import type { Caller } from './caller.ts';

/** Where an address leads. @throws LINK_ENDED */
export async function pluginWebhookOf(rows: Pick<PluginWebhookRows, 'find'>, token: string): Promise<WebhookPlace> {
  const given = readKeyText(token, 'lsw');
  const found = given && (await rows.find(given.keyId));
  const isRight = hasSecret(given, found?.secretSha256);
  if (!found || !isRight) throw failure('LINK_ENDED', { problem: 'is not valid' });
  return found;
}

/** Who knows an address acts for its tenant, without any scope. Each address has limits of its own. */
export function callerOfWebhook({ webhookId, tenantId }: WebhookPlace): Caller {
  return { keyId: `webhook:${webhookId}`, actor: { kind: 'link', id: webhookId }, tenantId, scopes: new Set() };
}
