import { Client } from 'pg';
import type { Store } from '../../src/store/store.ts';
import { newCall, newConversation, newId, useTestStore, statusOf } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

test('creating a conversation again changes nothing', async () => {
  const id = await newConversation(store);
  const status = statusOf(id, { state: 'closed', userId: 'somebody else' });
  await store.conversations.create({ ...status, status });
  expect(await store.conversations.get(id)).toMatchObject({ conversationId: id, state: 'idle', userId: 'user-1' });
  expect((await store.events.read(id, 0)).map((event) => event.type)).toEqual(['conversation.started']);
});

test('the state of a conversation is read by itself', async () => {
  const id = await newConversation(store, { state: 'paused' });
  expect(await store.conversations.stateOf(id)).toBe('paused');
  expect(await store.conversations.stateOf('conv_none')).toBeUndefined();
});

test('a status is saved together with its events', async () => {
  const id = await newConversation(store);
  await store.conversations.saveStatus(statusOf(id, { state: 'paused', paused: { by: 'operator', note: 'lunch' } }), [
    { type: 'conversation.paused', data: { by: 'operator' } },
  ]);
  expect(await store.conversations.get(id)).toMatchObject({ state: 'paused', status: { paused: { by: 'operator', note: 'lunch' } } });
  expect((await store.events.read(id, 1)).map((event) => event.type)).toEqual(['conversation.paused']);
});

test('a status whose events are all in the log replaces no later one', async () => {
  const id = await newConversation(store);
  const noted = [{ type: 'note' as const, data: { text: 'hello' }, key: 'note/1' }];
  await store.conversations.saveStatus(statusOf(id, { state: 'running' }), noted);
  await store.conversations.saveStatus(statusOf(id, { state: 'paused' }), []);
  await store.conversations.saveStatus(statusOf(id, { state: 'running' }), noted);
  expect(await store.conversations.get(id)).toMatchObject({ state: 'paused', status: { state: 'paused' } });
  const another = { type: 'note' as const, data: { text: 'again' }, key: 'note/2' };
  await store.conversations.saveStatus(statusOf(id, { state: 'idle' }), [...noted, another]);
  expect(await store.conversations.get(id)).toMatchObject({ state: 'idle' });
  expect((await store.events.read(id, 1)).map(({ data }) => data)).toEqual([{ text: 'hello' }, { text: 'again' }]);
});

test('a status tells what runs and where the sandbox is as of now, not as of its last save', async () => {
  const id = await newConversation(store, { state: 'running', turnId: 'turn_1' });
  const call = await newCall(store, id);
  const other = await newCall(store, id, { turnId: 'turn_0' });
  for (const { callId, hash } of [call, other]) await store.toolCalls.claim(callId, hash);
  const sandboxId = newId('sbx');
  const names = { hostId: 'host', containerName: sandboxId, volumeName: sandboxId };
  await store.sandboxes.ensure({ sandboxId, conversationId: id, tenantId: 'default', state: 'frozen', options: {}, ...names });
  const busy = { sandboxTier: 'frozen', runningCalls: [{ callId: call.callId, tool: 'shell:run' }] };
  expect(await store.conversations.get(id)).toMatchObject({ status: busy });
  await store.toolCalls.settle(call.callId, undefined, { state: 'finished', content: [], isError: false }, []);
  expect(await store.conversations.get(id)).toMatchObject({ status: { sandboxTier: 'frozen', runningCalls: [] } });
});

test('the first status of a conversation that no client created makes its row', async () => {
  const id = newId('conv');
  await store.conversations.saveStatus(statusOf(id, { state: 'running' }), [{ type: 'note', data: { text: 'hello' } }]);
  expect(await store.conversations.get(id)).toMatchObject({ agentId: 'fixer', state: 'running' });
  expect((await store.events.read(id, 0)).map((event) => event.type)).toEqual(['conversation.started', 'note']);
});

test('a list is filtered, newest first, and limited', async () => {
  const tenantId = newId('msg');
  const ids = [];
  for (const state of ['idle', 'running', 'idle'] as const) ids.push(await newConversation(store, { tenantId, state, agentId: `agent-${state}` }));
  const list = async (filter: object) => (await store.conversations.list({ tenantId, limit: 10, ...filter })).map((row) => row.conversationId);
  expect(await list({})).toEqual(ids.toReversed());
  expect(await list({ state: 'idle' })).toEqual([ids[2], ids[0]]);
  expect(await list({ agentId: 'agent-running', userId: 'user-1' })).toEqual([ids[1]]);
  expect(await list({ limit: 1 })).toEqual([ids[2]]);
  expect(await list({ userId: 'nobody' })).toEqual([]);
});

test('a message put twice keeps its first text', async () => {
  const id = await newConversation(store);
  expect(await store.messages.put(id, 'msg_1', 'first \0')).toBe(true);
  expect(await store.messages.put(id, 'msg_1', 'second')).toBe(false);
  expect(await store.messages.get(id, 'msg_1')).toBe('first \uFFFD');
  expect(await store.messages.get(id, 'msg_2')).toBeUndefined();
  await expect(store.messages.put('conv_none', 'msg_1', 'text')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('a transcript entry is stored once per key, in order', async () => {
  const id = await newConversation(store);
  const say = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });
  expect(await store.transcript.append(id, 'turn_1', undefined, 'msg_1', say('one'))).toBe(true);
  expect(await store.transcript.append(id, 'turn_1', undefined, 'msg_1', say('one, told again'))).toBe(false);
  expect(await store.transcript.append(id, 'turn_1', 'step_1', 'step_1', { role: 'note', text: 'two' })).toBe(true);
  expect(await store.transcript.turnOf(id, 'msg_1')).toBe('turn_1');
  for (const other of ['step_1', 'msg_2']) expect(await store.transcript.turnOf(id, other)).toBeUndefined();
  const entries = await store.transcript.read(id);
  expect(entries).toMatchObject([
    { seq: 1, turnId: 'turn_1', entry: say('one') },
    { seq: 2, stepId: 'step_1', entry: { role: 'note', text: 'two' } },
  ]);
  expect(entries[0]).not.toHaveProperty('stepId');
  expect(await store.transcript.read(id, 1)).toHaveLength(1);
  await expect(store.transcript.append('conv_none', 'turn_1', undefined, 'k', say('x'))).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('the end of an answer is logged with it, and only with the answer that counts', async () => {
  const id = await newConversation(store);
  const answer = (text: string) => ({ role: 'assistant' as const, parts: [{ type: 'text' as const, text }], usage: { inputTokens: 1, outputTokens: 1 } });
  const told = (text: string, attempt: number) => [{ type: 'text.delta' as const, turnId: 'turn_1', stepId: 'step_1', attempt, data: { text } }];
  const place = { conversationId: id, turnId: 'turn_1', stepId: 'step_1' };
  expect(await store.transcript.addAnswer(place, answer('one'), 'model', told('one', 1))).toBe(true);
  expect(await store.transcript.addAnswer(place, answer('two'), 'model', told('two', 2))).toBe(false);
  expect(await store.transcript.addAnswer({ ...place, stepId: 'step_2' }, answer('three'), 'model')).toBe(true);
  const events = await store.events.read(id, 1);
  expect(events.map(({ seq, data }) => [seq, data])).toEqual([[2, { text: 'one' }]]);
});

test('an entry appended by many at once is stored once', async () => {
  const id = await newConversation(store);
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, index) => store.transcript.append(id, 'turn_1', undefined, 'same', { role: 'note', text: String(index) })),
  );
  expect(results.filter(Boolean)).toHaveLength(1);
  expect(await store.transcript.read(id)).toHaveLength(1);
});

test('the inbox has the conversations with calls that wait, newest first, and is read from an index of its own', async () => {
  const waiting = { pendingApprovals: [{ callId: 'call_1' }] } as never;
  const asked = await newConversation(store, { tenantId: 'inbox', ...(waiting as object) });
  const answered = await newConversation(store, { tenantId: 'inbox', ...(waiting as object) });
  const later = await newConversation(store, { tenantId: 'inbox' });
  await store.conversations.saveStatus(statusOf(answered, { tenantId: 'inbox' }), []);
  await store.conversations.saveStatus(statusOf(later, { tenantId: 'inbox', ...(waiting as object) }), []);
  const inbox = await store.conversations.list({ tenantId: 'inbox', hasApprovals: true, limit: 9 });
  expect(inbox.map(({ conversationId }) => conversationId)).toEqual([later, asked]);
  const client = new Client(url);
  await client.connect();
  await client.query(`insert into conversations (conversation_id, agent_id, user_id, tenant_id, state, status)
    select 'many-' || n, 'fixer', 'user-1', 'inbox', 'idle', '{"pendingApprovals":[]}' from generate_series(1, 5000) as n; analyze conversations`);
  const listed = `select conversation_id from conversations where waiting_calls > 0 and %s order by created_at desc, conversation_id desc limit 50`;
  for (const condition of [`tenant_id = 'inbox'`, 'true']) {
    const { rows } = await client.query<Record<string, string>>(`explain ${listed.replace('%s', condition)}`);
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('using conversations_waiting');
  }
  await client.end();
});

test('a transcript is read in parts', async () => {
  const id = await newConversation(store);
  for (let count = 1; count <= 5; count += 1)
    await store.transcript.append(id, 'turn_1', undefined, `key-${count}`, { role: 'note', text: String(count) } as never);
  expect((await store.transcript.read(id, 0, 2)).map(({ seq }) => seq)).toEqual([1, 2]);
  expect((await store.transcript.read(id, 4, 2)).map(({ seq }) => seq)).toEqual([5]);
  expect(await store.transcript.read(id)).toHaveLength(5);
});
