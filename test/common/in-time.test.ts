import { getEventListeners } from 'node:events';
import { inTime, inTimeOr } from '../../src/common/in-time.ts';

const late = () => new Error('too late');
const never = new Promise<never>(() => undefined);

test('gives what the work gives, or its error', async () => {
  expect(await inTime(Promise.resolve(1), 1000, late)).toBe(1);
  expect(await inTime(2, 1000, late)).toBe(2);
  await expect(inTime(Promise.reject(new Error('own')), 1000, late)).rejects.toThrow('own');
});

test('rejects when it is late, and a rejection of the work after that is not unhandled', async () => {
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<never>((_resolve, reject) => (fail = reject));
  await expect(inTime(work, 1, late)).rejects.toThrow('too late');
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  fail(new Error('after the end'));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('rejects with the reason of a signal, aborted before or meanwhile, and leaves no listener', async () => {
  const over = new AbortController();
  const waiting = inTime(never, 60_000, late, over.signal);
  over.abort(new Error('aborted'));
  await expect(waiting).rejects.toThrow('aborted');
  await expect(inTime(never, 60_000, late, over.signal)).rejects.toThrow('aborted');
  expect(getEventListeners(over.signal, 'abort')).toEqual([]);
});

test('being late may be an answer; an error of the work stays one', async () => {
  expect(await inTimeOr(never, 1, false)).toBe(false);
  expect(await inTimeOr(Promise.resolve(true), 1000, false)).toBe(true);
  await expect(inTimeOr(Promise.reject(new Error('own')), 1000, false)).rejects.toThrow('own');
});
