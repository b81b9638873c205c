import { Client } from 'pg';
import type { Usage } from '../../src/contracts/usage.ts';
import type { Store } from '../../src/store/store.ts';
import { behindLock, rowOf } from './behind-lock.ts';
import { newCall, newConversation, newId, statusOf, useTestStore } from './support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

const usage: Usage = { inputTokens: 3, outputTokens: 2 };
const answer = { role: 'assistant' as const, parts: [{ type: 'text' as const, text: 'Hello' }], usage };
const NO_FILES = { files: 0, bytes: 0, changed: 0, addedBytes: 0, leftOut: 0 };
const LEFT_OUT = { stage: 'results', results: 1, arguments: 0, images: 0, entries: 0 };

/** What an activity stores, and what a second attempt stores again while a first one, which was thought dead, is still at it. `prepare` gives the id of a call. */
const REPEATED: Record<string, { prepare?: (id: string) => Promise<string>; run: (id: string, callId: string) => Promise<unknown> }> = {
  'an entry of the transcript': { run: (id) => store.transcript.append(id, 'turn_1', undefined, 'note-1', { role: 'note', text: 'A note' }) },
  'an answer with the end of its step': {
    run: (id) => {
      const events = [{ type: 'step.finished' as const, turnId: 'turn_1', stepId: 'step_1', data: { usage: { ...usage } }, key: 'step.finished/step_1' }];
      return store.transcript.addAnswer({ conversationId: id, turnId: 'turn_1', stepId: 'step_1', endKey: 'end' }, answer, 'model', events);
    },
  },
  'an answer with the end of its text': {
    run: (id) => {
      const events = [{ type: 'text.delta' as const, turnId: 'turn_1', stepId: 'step_1', data: { text: 'Hello' } }];
      return store.transcript.addAnswer({ conversationId: id, turnId: 'turn_1', stepId: 'step_1' }, answer, 'model', events);
    },
  },
  'a message': {
    run: (id) => {
      const events = [{ type: 'turn.started' as const, turnId: 'turn_1', data: {}, key: 'started' }];
      const given = { turnId: 'turn_1', messageId: 'msg_1', text: 'Hi', attachments: [], clientTools: undefined };
      return store.conversations.acceptMessage({ ...given, events, status: statusOf(id, { state: 'running' }), replaces: 'with-events' });
    },
  },
  'a status with its events': {
    run: (id) => store.conversations.saveStatus(statusOf(id), [{ type: 'turn.finished', turnId: 'turn_1', data: { outcome: 'completed' }, key: 'end' }]),
  },
  'an event with a key': { run: (id) => store.events.append(id, [{ type: 'note', data: { text: 'a' }, key: 'note-1' }]) },
  'a compaction': {
    run: (id) => {
      const made = { compactionId: 'cmp_1', afterSeq: 0, reason: 'limit', leftOut: LEFT_OUT, tokensBefore: 9, tokensAfter: 3, usage } as never;
      return store.compactions.add({ conversationId: id, turnId: 'turn_1', model: 'model' }, made, { type: 'context.compacted', data: {}, key: 'cmp_1' });
    },
  },
  'the end of a compaction': {
    prepare: async (id) => {
      await REPEATED['a compaction']?.run(id, '');
      return '';
    },
    run: (id) => store.compactions.undo(id, () => ({ type: 'context.restored', data: {}, key: 'undone' })),
  },
  'a plan': {
    run: (id) => store.plans.write({ conversationId: id, turnId: 'turn_1', callId: 'call_1' }, [{ text: 'Count', status: 'done' }]),
  },
  'a checkpoint': { run: (id) => store.checkpoints.add(id, { number: 1, turnId: 'turn_1', at: new Date(1).toISOString(), ...NO_FILES }, 0) },
  'a claim of a call': {
    prepare: async (id) => (await newCall(store, id)).callId,
    run: (_, callId) => store.toolCalls.claim(callId, 'hash-1', [{ type: 'tool.started', turnId: 'turn_1', data: { callId, tool: 'shell:run' } }]),
  },
  'the result of a call': {
    prepare: async (id) => (await newCall(store, id)).callId,
    run: (_, callId) => store.toolCalls.settle(callId, undefined, { state: 'finished', content: [{ type: 'text', text: 'ok' }], isError: false }, []),
  },
  'an edit of a call': {
    prepare: async (id) => (await newCall(store, id)).callId,
    run: (_, callId) => store.toolCalls.edit(callId, { command: 'false' }, 'hash-2'),
  },
  'a call of code': {
    prepare: async () => newId('call'),
    run: (id, callId) => {
      const call = {
        callId,
        conversationId: id,
        turnId: 'turn_1',
        stepId: 'step_1',
        tool: 'files:read',
        arguments: {},
        hash: 'h',
        number: 1,
        parentCallId: 'code',
      };
      return store.toolCalls.claimMethod(call, { requested: [], started: [{ type: 'note', data: { text: 'a' } }] });
    },
  },
  'an attachment': { run: (id) => store.media.keep(id, { data: Buffer.from('some text'), name: 'a.txt' }, 'message') },
};

const WHAT_IS_STORED = `select event_seq, transcript_seq, stored_bytes::float8, media_bytes::float8, state,
    (select json_agg(json_build_array(seq, type, key) order by seq) from events e where e.conversation_id = c.conversation_id) as events,
    (select json_agg(json_build_array(seq, entry->>'role') order by seq) from transcript t where t.conversation_id = c.conversation_id) as entries,
    (select json_agg(json_build_array(model, input_tokens)) from model_calls m where m.conversation_id = c.conversation_id) as used,
    (select json_agg(json_build_array(number, undone_after_seq)) from compactions m where m.conversation_id = c.conversation_id) as compactions,
    (select json_agg(number) from plans p where p.conversation_id = c.conversation_id) as plans,
    (select json_agg(number) from checkpoints p where p.conversation_id = c.conversation_id) as checkpoints,
    (select json_agg(state) from tool_calls p where p.conversation_id = c.conversation_id) as calls
  from conversations c where conversation_id = $1`;

describe('what two attempts store at the same time is stored as if one had come after the other', () => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ connectionString: url });
    await client.connect();
  });
  afterAll(async () => client.end());
  const stored = async (id: string) => (await client.query<Record<string, unknown>>(WHAT_IS_STORED, [id])).rows[0];

  test.each(Object.entries(REPEATED))('%s', async (_, { prepare, run }) => {
    const [one, other] = [await newConversation(store), await newConversation(store)];
    const calls = [(await prepare?.(one)) ?? '', (await prepare?.(other)) ?? ''] as const;
    for (let time = 0; time < 2; time += 1) await run(one, calls[0]);
    const again = () => run(other, calls[1]);
    await behindLock(url, rowOf(other), [again, again]);
    expect(await stored(other)).toEqual(await stored(one));
  });

  test('an answer that comes while its turn ends is not stored after the end', async () => {
    const id = await newConversation(store);
    const [, isAdded] = await behindLock(url, rowOf(id), [
      () => store.conversations.saveStatus(statusOf(id), [{ type: 'turn.finished', turnId: 'turn_1', data: { outcome: 'interrupted' }, key: 'end' }]),
      () => store.transcript.addAnswer({ conversationId: id, turnId: 'turn_1', stepId: 'step_1', endKey: 'end' }, answer, 'model'),
    ]);
    expect(isAdded).toBe(false);
    expect(await stored(id)).toMatchObject({ entries: null, transcript_seq: 0, event_seq: 2 });
  });
});
