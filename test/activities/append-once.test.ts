import { MockActivityEnvironment } from '@temporalio/testing';
import { withoutAppended } from '../../src/activities/append-once.ts';
import type { NewEvent } from '../../src/store/store.ts';
import { createFakeStore } from './fakes.ts';

const note = (text: string, more: Partial<NewEvent> = {}): NewEvent => ({ type: 'note', turnId: 'turn_1', data: { text, nested: { a: 1, b: [2] } }, ...more });

/** What an attempt would append that follows an earlier one, scheduled so long ago. */
function left(store: ReturnType<typeof createFakeStore>['store'], events: NewEvent[], { attempt = 2, scheduledAgoMs = 0 } = {}): Promise<NewEvent[]> {
  const environment = new MockActivityEnvironment({ attempt, scheduledTimestampMs: Date.now() - scheduledAgoMs });
  return environment.run(withoutAppended, store, 'conv_1', events);
}

test('a first attempt appends everything, without a look at the log', async () => {
  const { store } = createFakeStore();
  const blind = { ...store, events: { ...store.events, read: () => Promise.reject(new Error('read')) } };
  expect(await left(blind, [note('a')], { attempt: 1 })).toEqual([note('a')]);
  expect(await left(blind, [])).toEqual([]);
});

test('a retry leaves out what the earlier attempt had appended, in whatever order the keys come back', async () => {
  const { store } = createFakeStore();
  await store.events.append('conv_1', [{ ...note('a'), data: { nested: { b: [2], a: 1 }, text: 'a' } }]);
  expect(await left(store, [note('a'), note('b')])).toEqual([note('b')]);
});

test('the same words of another turn or of an earlier activity are not the same event', async () => {
  const { store, events } = createFakeStore();
  await store.events.append('conv_1', [note('a', { turnId: 'turn_0' }), note('b')]);
  for (const event of events) if (event.data['text'] === 'b') event.at = new Date(Date.now() - 60_000).toISOString();
  expect(await left(store, [note('a'), note('b')])).toEqual([note('a'), note('b')]);
});

test('a log of many pages is read to its end', async () => {
  const { store } = createFakeStore();
  await store.events.append('conv_1', [...Array.from({ length: 1200 }, (_, index) => note(`old ${index}`)), note('a')]);
  expect(await left(store, [note('a')])).toEqual([]);
});
