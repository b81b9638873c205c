import { Client } from 'pg';
import type { Store } from '../../../src/store/store.ts';
import { behindLock } from '../behind-lock.ts';
import { BY, newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

test('an old event that is queued again while old ones are removed is sent again', async () => {
  const [webhookId, tenantId] = [newId('msg'), newId('msg')];
  await store.webhooks.create({ webhookId, tenantId, url: 'http://a.example', secret: 'whsec_YQ==' }, 10, BY);
  const conversationId = await newConversation(store, { tenantId });
  await store.webhooks.begin(webhookId, 'test');
  const { deliveryId = '' } = (await store.webhooks.next(webhookId, 'test', 1000))?.delivery ?? {};
  await store.webhooks.delivered({ webhookId, deliveryId, tookMs: 1 }, { url: 'http://a.example' });
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`update webhook_deliveries set queued_at = now() - interval '8 days'`);
  await client.end();
  const replay = () => store.webhooks.replayFrom(webhookId, { conversationId, seq: 1 }, 10);
  const sweep = () => store.webhooks.sweep(7 * 86_400_000);
  expect(await behindLock(url, { sql: 'select 1 from webhook_deliveries' }, [replay, sweep])).toEqual([1, 0]);
  expect((await store.webhooks.next(webhookId, 'test', 1000))?.delivery).toMatchObject({ conversationId, seq: 1 });
});
