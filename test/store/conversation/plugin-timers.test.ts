import { MOST_TIMERS, type PluginTimer } from '../../../src/contracts/plugins/timer.ts';
import type { Store } from '../../../src/store/store.ts';
import { BY, newConversation, newId, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const timer = (timerId: string, fields: Partial<PluginTimer> = {}): PluginTimer => ({
  timerId,
  dueMs: Date.now() - 1000,
  text: timerId,
  temporary: false,
  ...fields,
});
const later = Date.now() + 3_600_000;
const idsOf = (timers: { timerId: string }[]) => timers.map(({ timerId }) => timerId);
const place = async (pluginId = 'tides') => ({ pluginId, conversationId: await newConversation(store) });
const dueIn = async (conversationId: string) => (await store.pluginTimers.due(1000)).filter((due) => due.conversationId === conversationId);

test('a timer is set once, however often it is wished, and not again when it is over', async () => {
  const at = await place();
  const set = () => store.pluginTimers.set(at, timer('one'));
  expect(await Promise.all([set(), set(), set()])).toEqual(['set', 'set', 'set']);
  expect(idsOf(await store.pluginTimers.waiting(at))).toEqual(['one']);
  const [due] = await dueIn(at.conversationId);
  await store.pluginTimers.wentOff(due!);
  expect(await set()).toBe('set');
  expect(await store.pluginTimers.waiting(at)).toEqual([]);
});

test('those that are due come in their order, with the newest turn of the conversation', async () => {
  const at = await place();
  await store.pluginTimers.set(at, timer('later', { dueMs: later }));
  await store.pluginTimers.set(at, timer('second', { dueMs: 2_000 }));
  await store.pluginTimers.set(at, timer('first', { dueMs: 1_000, text: 'a\0b\uD800' }));
  expect(await dueIn(at.conversationId)).toEqual([
    { ...at, timerId: 'first', dueMs: 1_000, text: 'a\uFFFDb\uFFFD' },
    { ...at, timerId: 'second', dueMs: 2_000, text: 'second' },
  ]);
  await store.transcript.append(at.conversationId, 'turn_1', undefined, 'a', { role: 'note', text: 'a' });
  await store.transcript.append(at.conversationId, 'turn_2', undefined, 'b', { role: 'note', text: 'b' });
  expect((await dueIn(at.conversationId)).map(({ turnId }) => turnId)).toEqual(['turn_2', 'turn_2']);
  expect(await store.pluginTimers.waiting(at)).toMatchObject([{ dueMs: 1_000 }, { dueMs: 2_000 }, { timerId: 'later', dueMs: later, temporary: false }]);
});

test('a temporary timer replaces the one before, and the others stay', async () => {
  const at = await place();
  await store.pluginTimers.set(at, timer('kept', { dueMs: later }));
  await store.pluginTimers.set(at, timer('first', { dueMs: later + 1, temporary: true }));
  await store.pluginTimers.set(at, timer('second', { dueMs: later + 2, temporary: true }));
  expect(idsOf(await store.pluginTimers.waiting(at))).toEqual(['kept', 'second']);
  // A wish that comes again changes nothing.
  await store.pluginTimers.set(at, timer('first', { dueMs: later, temporary: true }));
  expect(idsOf(await store.pluginTimers.waiting(at))).toEqual(['kept', 'second']);
});

test('timers are cleared by their ids, by their kind, or all of them, and those of others stay', async () => {
  const at = await place();
  const other = { ...at, pluginId: 'other' };
  const set = async (where: typeof at, timerId: string, temporary = false) => store.pluginTimers.set(where, timer(timerId, { dueMs: later, temporary }));
  for (const id of ['a', 'b', 'c']) await set(at, id);
  await set(at, 't', true);
  await set(other, 'a');
  await store.pluginTimers.clear(at, { timerIds: ['a', 'unknown'] });
  expect(idsOf(await store.pluginTimers.waiting(at))).toEqual(['b', 'c', 't']);
  await store.pluginTimers.clear(at, { temporary: false });
  expect(idsOf(await store.pluginTimers.waiting(at))).toEqual(['t']);
  await store.pluginTimers.clear(at, {});
  expect(await store.pluginTimers.waiting(at)).toEqual([]);
  expect(idsOf(await store.pluginTimers.waiting(other))).toEqual(['a']);
});

test('no more than the limit wait in a conversation, or are set there within an hour, also when many are set at once', async () => {
  const at = await place();
  const ids = Array.from({ length: MOST_TIMERS + 5 }, (_, index) => `t${index}`);
  const outcomes = await Promise.all(ids.map((id) => store.pluginTimers.set(at, timer(id, { dueMs: later }))));
  expect(outcomes.filter((outcome) => outcome === 'full')).toHaveLength(5);
  expect(await store.pluginTimers.waiting(at)).toHaveLength(MOST_TIMERS);
  await store.pluginTimers.clear(at, {});
  expect(await store.pluginTimers.set(at, timer('more'))).toBe('full');
  expect(await store.pluginTimers.set({ ...at, pluginId: 'other' }, timer('more'))).toBe('set');
});

test('a closed conversation and an unknown one take no timer, and one of a closed conversation or a disabled plugin does not go off', async () => {
  const at = await place('silenced');
  await store.pluginTimers.set(at, timer('one'));
  await store.plugins.enable('silenced', false, BY);
  expect(await dueIn(at.conversationId)).toEqual([]);
  await store.plugins.enable('silenced', true, BY);
  expect(idsOf(await dueIn(at.conversationId))).toEqual(['one']);
  await store.conversations.close(at.conversationId, { reason: 'closed' });
  expect(await dueIn(at.conversationId)).toEqual([]);
  expect(await store.pluginTimers.set(at, timer('two'))).toBe('closed');
  expect(await store.pluginTimers.set({ ...at, conversationId: newId('conv') }, timer('two'))).toBe('closed');
  await store.pluginTimers.sweep();
  expect(await store.pluginTimers.waiting(at)).toEqual([]);
});
