import type { Answer, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import type { Checkpoints } from '../../../src/store/conversation/checkpoints.ts';
import { planFiles } from '../../../src/store/conversation/fork-files.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, statusOf, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const text = (said: string): TranscriptEntry => ({ role: 'user', content: [{ type: 'text', text: said }] });
const say = (id: string, said: string) => store.transcript.append(id, `turn-${said}`, undefined, `key-${said}`, text(said));
const answer: Answer = { role: 'assistant', parts: [{ type: 'text', text: 'Yes.' }], usage: { inputTokens: 1, outputTokens: 1 } };

async function conversationWith(...texts: string[]): Promise<string> {
  const id = await newConversation(store);
  for (const said of texts) await say(id, said);
  return id;
}

async function fork(source: string, transcriptSeq: number, { hidden = [] as number[], id = newId('conv') } = {}): Promise<string> {
  const status = statusOf(id, { forkedFrom: { conversationId: source, transcriptSeq } });
  const place = { conversationId: source, transcriptSeq, hidden, files: 'none' as const, isShown: true };
  expect(await store.forks.create({ ...status, status }, place, [{ type: 'conversation.started', data: {} }])).toBe(true);
  return id;
}

/** What a conversation has, as `number:text`. */
async function read(id: string, { all = false } = {}): Promise<string[]> {
  const entries = await (all ? store.transcript.readAll(id) : store.transcript.read(id));
  return entries.map(
    ({ seq, entry, rewound }) =>
      `${seq}:${entry.role === 'user' && entry.content[0]?.type === 'text' ? entry.content[0].text : entry.role}${rewound ? '-' : ''}`,
  );
}

async function remove(id: string): Promise<void> {
  await store.conversations.close(id, {});
  expect(await store.removal.begin(id)).toBe(true);
  expect(await store.removal.finish(id)).toBe(true);
}

const checkpoint = (number: number): Parameters<Checkpoints['add']>[1] => ({
  number,
  turnId: 'turn-1',
  at: new Date(Date.UTC(2026, 1, 1) + number * 1000).toISOString(),
  files: 1,
  bytes: 1,
  changed: 1,
  addedBytes: 1,
  leftOut: 0,
});

test('a fork reads the entries of its source up to its place, then its own; neither sees what the other adds', async () => {
  const source = await conversationWith('a', 'b', 'c');
  const one = await fork(source, 2);
  await say(one, 'x');
  await say(source, 'd');
  expect(await read(one)).toEqual(['1:a', '2:b', '3:x']);
  expect(await read(source)).toEqual(['1:a', '2:b', '3:c', '4:d']);
  const deep = await fork(one, 3);
  const early = await fork(one, 1);
  await say(one, 'y');
  // A key counts within one conversation.
  await say(deep, 'a');
  expect(await read(deep)).toEqual(['1:a', '2:b', '3:x', '4:a']);
  expect(await read(early)).toEqual(['1:a']);
  expect((await store.transcript.readAll(deep, 1, 2)).map(({ seq }) => seq)).toEqual([2, 3]);
  expect((await store.transcript.read(deep, 3, 5)).map(({ seq }) => seq)).toEqual([4]);
  expect(await store.judgements.userMessages(deep)).toEqual(['a', 'b', 'x', 'a']);
  expect(await read(await fork(source, 0))).toEqual([]);
});

test('an id is taken once, also by two at the same moment', async () => {
  const source = await conversationWith('a');
  const id = newId('conv');
  const status = statusOf(id);
  const place = { conversationId: source, transcriptSeq: 1, hidden: [], files: 'none' as const, isShown: true };
  const made = await Promise.all([1, 2, 3].map(() => store.forks.create({ ...status, status }, place, [])));
  expect(made.filter(Boolean).length).toBe(1);
  expect(await read(id)).toEqual(['1:a']);
});

test('what is removed remains for those that read it, and goes with the last of them', async () => {
  const source = await conversationWith('a', 'b', 'c');
  const one = await fork(source, 2);
  await say(one, 'x');
  const two = await fork(one, 3);
  await say(two, 'y');
  await remove(source);
  expect(await read(one)).toEqual(['1:a', '2:b', '3:x']);
  expect(await read(two)).toEqual(['1:a', '2:b', '3:x', '4:y']);
  // Another conversation takes the id.
  const status = statusOf(source);
  await store.conversations.create({ ...status, status });
  await say(source, 'z');
  expect(await read(one)).toEqual(['1:a', '2:b', '3:x']);
  await remove(source);
  const three = await fork(two, 4);
  await remove(one);
  expect(await read(two)).toEqual(['1:a', '2:b', '3:x', '4:y']);
  await remove(two);
  expect(await read(three)).toEqual(['1:a', '2:b', '3:x', '4:y']);
  await remove(three);
  expect(await read(three)).toEqual([]);
});

test('a conversation that is being removed is not forked, nor is a fork that reads it', async () => {
  const source = await conversationWith('a');
  const one = await fork(source, 1);
  await store.conversations.close(source, {});
  await store.removal.begin(source);
  await expect(fork(source, 1)).rejects.toMatchObject({ code: 'CONVERSATION_REMOVING' });
  await expect(fork(one, 1)).rejects.toMatchObject({ code: 'CONVERSATION_REMOVING' });
  await store.removal.finish(source);
  expect(await read(await fork(one, 1))).toEqual(['1:a']);
  await expect(fork(source, 1)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
});

test('removals and forks at the same time lose no entry', async () => {
  for (let round = 0; round < 10; round += 1) {
    const source = await conversationWith('a', 'b');
    const one = await fork(source, 2);
    await store.conversations.close(source, {});
    const removed = store.removal.begin(source).then(async () => store.removal.finish(source));
    const forks = await Promise.allSettled([fork(one, 2), fork(one, 1), fork(source, 2)]);
    await removed;
    const lengths = [2, 1, 2];
    for (const [index, made] of forks.entries()) if (made.status === 'fulfilled') expect((await read(made.value)).length).toBe(lengths[index]);
    expect((await read(one)).length).toBe(2);
  }
});

test('a rewind of either one does not change the other, and a checkpoint of the source is a place of the fork', async () => {
  const source = await conversationWith('a', 'b');
  const checkpointId = await store.checkpoints.add(source, checkpoint(1), 1);
  await say(source, 'c');
  const one = await fork(source, 3);
  await say(one, 'x');
  await store.forks.inheritCheckpoints(one);
  await store.forks.inheritCheckpoints(one);
  const data = { checkpointId, before: '', transcriptSeq: 2, written: 0, removed: 0, failed: 0 };
  const [target] = await store.checkpoints.kept(source);
  const [inherited] = await store.checkpoints.kept(one);
  if (!target || !inherited) throw new Error('no checkpoint');
  await store.checkpoints.rewind(source, target, 'rewind_1', data);
  expect(await read(source, { all: true })).toEqual(['1:a', '2:b', '3:c-']);
  expect(await read(one)).toEqual(['1:a', '2:b', '3:c', '4:x']);
  await store.checkpoints.rewind(one, inherited, 'rewind_2', data);
  expect(await read(one, { all: true })).toEqual(['1:a', '2:b', '3:c-', '4:x-']);
  await say(source, 'd');
  const later = await fork(source, 4, { hidden: [3] });
  expect(await read(later)).toEqual(['1:a', '2:b', '4:d']);
  expect(await store.forks.hiddenBefore(later)).toEqual([{ afterSeq: 3, hidden: [] }]);
  await store.removal.begin(source);
  expect(await read(later, { all: true })).toEqual(['1:a', '2:b', '3:c-', '4:d']);
});

test('what a fork has taken over is named before it goes back, with what it did itself', async () => {
  const source = await conversationWith('a');
  await store.checkpoints.add(source, checkpoint(1), 1);
  await store.events.append(source, [{ type: 'tool.started', data: { callId: 'call_1', tool: 'mail:send' } }]);
  await say(source, 'b');
  const one = await fork(source, 2);
  await store.forks.inheritCheckpoints(one);
  await store.events.append(one, [{ type: 'tool.started', data: { callId: 'call_2', tool: 'mail:send' } }]);
  await store.events.append(source, [
    { type: 'step.started', data: {} },
    { type: 'tool.started', data: { callId: 'call_3', tool: 'other:tool' } },
  ]);
  const [inherited] = await store.checkpoints.kept(one);
  expect(inherited && (await store.checkpoints.effects(one, inherited))).toEqual({ tools: [{ tool: 'mail:send', calls: 2 }], hosts: [] });
});

test('a fork is not forked with files before it has its own', async () => {
  const source = await conversationWith('a');
  const one = await fork(source, 1);
  const wanted = { conversationId: one, transcriptSeq: 1, files: 'now' as const };
  await expect(planFiles(store, wanted)).rejects.toThrow(
    `"${one}" cannot be forked there: it is a fork that has not got its files yet. Wait for its event fork.ready, or fork with files none`,
  );
  expect(await planFiles(store, { ...wanted, files: 'none' })).toEqual({ from: 'empty' });
  await store.forks.take(one, 'empty');
  await store.events.append(one, [{ type: 'fork.ready', data: { files: 'none', processes: false } }]);
  expect(await planFiles(store, wanted)).toEqual({ from: 'empty' });
  // Nobody gives it files any more.
  const ended = await fork(source, 1);
  await store.conversations.close(ended, {});
  await expect(planFiles(store, { ...wanted, conversationId: ended })).rejects.toMatchObject({
    code: 'FORK_FILES_UNKNOWN',
    values: { problem: 'it has no sandbox now' },
  });
});

test('a chain of forks is read at once', async () => {
  let newest = await conversationWith('0');
  for (let depth = 1; depth <= 60; depth += 1) {
    newest = await fork(newest, depth);
    await say(newest, String(depth));
  }
  expect(await read(newest)).toEqual(Array.from({ length: 61 }, (_, index) => `${index + 1}:${index}`));
});

test('compaction of prompts belongs to each by itself, and details are kept for a fork that is in use', async () => {
  const source = await conversationWith('a');
  await store.transcript.addAnswer({ conversationId: source, turnId: 'turn-a', stepId: 'step-1' }, answer, 'scripted');
  const place = { conversationId: source, turnId: 'turn-a', model: 'scripted' };
  const made = { compactionId: 'cmp_1', afterSeq: 2, reason: 'operator' as const, leftOut: { outputsTo: 1 }, tokensBefore: 2, tokensAfter: 1 };
  await store.compactions.add(place, made, { type: 'context.compacted', data: {}, key: 'cmp_1' });
  const one = await fork(source, 2);
  const early = await fork(source, 1);
  await store.compactions.undo(source, () => ({ type: 'context.restored', data: {}, key: 'undo_1' }));
  expect(await store.compactions.list(one)).toMatchObject([{ compactionId: 'cmp_1', afterSeq: 2 }]);
  expect((await store.compactions.list(one))[0]?.undoneAfterSeq).toBeUndefined();
  expect(await store.compactions.list(early)).toEqual([]);
  expect(await store.compactions.list(await fork(source, 2))).toEqual([]);
});

test('a fork has the plan and the skills of its place, and a rewind beyond the plan takes it back', async () => {
  const source = await conversationWith('a');
  await store.checkpoints.add(source, checkpoint(1), 1);
  await say(source, 'b');
  const items = [{ text: 'One', state: 'open' }] as unknown as Parameters<Store['plans']['write']>[1];
  await store.plans.write({ conversationId: source, turnId: 'turn-b', callId: 'call_1' }, items);
  await store.skills.pin(source, []);
  const [one, early] = [await fork(source, 2), await fork(source, 1)];
  await store.forks.inheritCheckpoints(one);
  expect(await store.plans.newest(one)).toEqual(items);
  expect(await store.plans.newest(early)).toBeUndefined();
  expect(await store.skills.pinned(one)).toEqual([]);
  const [target] = await store.checkpoints.kept(one);
  if (!target) throw new Error('no checkpoint');
  await store.checkpoints.rewind(one, target, 'rewind_1', {
    checkpointId: target.checkpointId,
    before: '',
    transcriptSeq: 1,
    written: 0,
    removed: 0,
    failed: 0,
  });
  expect(await store.plans.newest(one)).toBeUndefined();
  expect(await store.plans.newest(source)).toEqual(items);
});

test('details of old calls are kept while a fork reads them', async () => {
  const source = await conversationWith('a');
  const result: TranscriptEntry = { role: 'tool', callId: 'call_1', tool: 'shell:run', content: [{ type: 'text', text: 'output' }], isError: false };
  await store.transcript.append(source, 'turn-a', 'step-1', 'call_1', result);
  const one = await fork(source, 2);
  const outputOf = async (id: string) => JSON.stringify((await store.transcript.read(id))[1]?.entry);
  await store.conversations.close(source, {});
  await store.conversations.compact(-1, 1000);
  expect(await outputOf(one)).toContain('output');
  await store.conversations.close(one, {});
  await store.conversations.compact(-1, 1000);
  await store.conversations.compact(-1, 1000);
  expect(await outputOf(one)).toContain('was closed long ago');
  // The same for what a removed conversation has left.
  const other = await conversationWith('a');
  await store.transcript.append(other, 'turn-a', 'step-1', 'call_1', result);
  const two = await fork(other, 2);
  await remove(other);
  await store.conversations.compact(-1, 1000);
  expect(await outputOf(two)).toContain('output');
  await store.conversations.close(two, {});
  await store.conversations.compact(-1, 1000);
  expect(await outputOf(two)).toContain('was closed long ago');
});

test('a fork reads the attachments of its source, also when that is removed, and they go with the last of both', async () => {
  const source = await conversationWith('a');
  const { blob } = await store.media.keep(source, { data: Buffer.from(`chart of ${source}`), mediaType: 'text/plain', name: 'chart.txt' }, 'message');
  const one = await fork(source, 1);
  await remove(source);
  expect((await store.media.read(one, blob))?.toString()).toBe(`chart of ${source}`);
  await remove(one);
  expect(await store.media.find(one, blob)).toBeUndefined();
});
