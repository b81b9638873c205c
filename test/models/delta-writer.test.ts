import { createDeltaWriter } from '../../src/models/delta-writer.ts';
import type { NewEvent } from '../../src/store/store.ts';

const stamp = { turnId: 'turn_1', stepId: 'step_1', attempt: 1 };
const delta = (text: string) => ({ type: 'text' as const, text });
const event = (text: string): NewEvent => ({ ...stamp, type: 'text.delta', data: { text } });

test('what was not written yet is given to the caller, after all that was', async () => {
  const written: NewEvent[] = [];
  const deltas = createDeltaWriter(async (events) => void written.push(...events), stamp);
  deltas.add(delta('a'));
  void deltas.flush();
  deltas.add(delta('b'));
  deltas.add(delta('c'));
  expect(await deltas.rest()).toEqual([event('bc')]);
  expect(written).toEqual([event('a')]);
  expect(await deltas.rest()).toEqual([]);
});

test('a character whose halves come by themselves is written as one', async () => {
  const written: NewEvent[] = [];
  let onWrite: () => void;
  const nextWrite = () => new Promise<void>((resolve) => (onWrite = resolve));
  const deltas = createDeltaWriter(async (events) => {
    written.push(...events);
    onWrite();
  }, stamp);
  const first = nextWrite();
  deltas.add(delta('a\ud83d'));
  await first;
  const second = nextWrite();
  deltas.add(delta('\ude00b'));
  await second;
  deltas.add(delta('\ud83d'));
  expect(await deltas.rest()).toEqual([event('\ud83d')]);
  expect(written).toEqual([event('a'), event('\ud83d\ude00b')]);
});

test('the rest is not given when something before it could not be written', async () => {
  const deltas = createDeltaWriter(() => Promise.reject(new Error('the database is away')), stamp);
  deltas.add(delta('a'));
  deltas.flush().catch(() => undefined);
  deltas.add(delta('b'));
  await expect(deltas.rest()).rejects.toThrow('the database is away');
});
