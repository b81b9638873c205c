import { WorkflowNotFoundError } from '@temporalio/client';
import { Client } from 'pg';
import { failure } from '../../../src/contracts/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import type { RemovalParts } from '../../../src/worker/removal/remove-conversation.ts';
import { removeOld } from '../../../src/worker/removal/remove-old.ts';
import { newConversation, silent, useTestStore } from '../../store/support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

/** As many as a round takes, all with a sandbox on a host that is lost. */
const MANY = 1_000;
const ON_LOST_HOST = `with made as (
    insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status, removing_at)
    select 'conv_' || lpad(n::text, 5, '0'), 'fixer', 'ada', 'default', 'closed', '{}', now() - interval '1 day' from generate_series(1, $1::int) n returning conversation_id
  )
  insert into sandboxes (sandbox_id, conversation_id, tenant_id, state, host_id, container_name, volume_name, options)
  select 'sbx-' || conversation_id, conversation_id, 'default', 'stopped', 'host-lost', 'c', 'v', '{}' from made`;

test('removals that have to wait for a lost host do not hold up those that come after them', async () => {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(ON_LOST_HOST, [MANY]);
  await client.end();
  const id = await newConversation(store);
  await store.conversations.close(id, {});
  await store.removal.begin(id);
  const parts = {
    store,
    sandboxes: { destroy: async (sandboxId: string) => Promise.reject(failure('SANDBOX_UNREACHABLE', { sandboxId, problem: 'its host is lost' })) },
    workflows: { getHandle: (of: string) => ({ describe: async () => Promise.reject(new WorkflowNotFoundError('none', of, undefined)) }) },
    log: silent,
  } as unknown as RemovalParts;
  const place = { afterId: '' };
  const round = () => removeOld(parts, undefined, new AbortController().signal, place);
  expect([...(await round()), ...(await round())]).toEqual([id]);
  expect(await store.removal.begun(1, place.afterId)).toEqual(['conv_00001']);
});
