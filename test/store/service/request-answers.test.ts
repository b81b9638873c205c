import { Client } from 'pg';
import type { Store } from '../../../src/store/store.ts';
import { useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

/** Requests of which nothing was heard for this long. */
async function age(by: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`update request_answers set began_at = began_at - interval '${by}'`);
  await client.end();
}

const request = (name: string, holder: string) => ({ tenantId: 'north', request: Buffer.from(name), fingerprint: Buffer.from('same'), holder });

/** One process stood still for more than a minute, and another one has taken over its request. */
async function takenOver(name: string) {
  const [late, next] = [request(name, 'late'), request(name, 'next')];
  expect(await store.requestAnswers.begin(late)).toEqual({ state: 'begun', first: 'late' });
  await age('61 seconds');
  expect(await store.requestAnswers.begin(next)).toEqual({ state: 'begun', first: 'late' });
  return { late, next };
}

test('a process whose request was taken over does not give the key back', async () => {
  const { late, next } = await takenOver('released');
  await store.requestAnswers.release(late);
  expect(await store.requestAnswers.begin(request('released', 'third'))).toEqual({ state: 'running' });
  await store.requestAnswers.release(next);
  expect(await store.requestAnswers.begin(request('released', 'third'))).toEqual({ state: 'begun', first: 'third' });
});

test('its answer is not the one that is kept', async () => {
  const { late, next } = await takenOver('answered');
  await store.requestAnswers.answer(late, 500, 'late');
  expect(await store.requestAnswers.begin(request('answered', 'third'))).toEqual({ state: 'running' });
  await store.requestAnswers.answer(next, 200, 'next');
  expect(await store.requestAnswers.begin(request('answered', 'third'))).toEqual({ state: 'answered', status: 200, body: 'next' });
});

test('it does not say that the request of another process is in progress', async () => {
  const { late } = await takenOver('kept');
  await age('50 seconds');
  await store.requestAnswers.keep([late]);
  await age('50 seconds');
  expect(await store.requestAnswers.begin(request('kept', 'third'))).toEqual({ state: 'begun', first: 'late' });
});

test('an erasure while a request is in progress does not keep its answer from being stored', async () => {
  const one = request('erased', 'first');
  await store.requestAnswers.begin(one);
  await store.removal.removeUserEntries('north', 'user-1');
  await store.requestAnswers.answer(one, 200, '{}');
  expect(await store.requestAnswers.begin(request('erased', 'second'))).toEqual({ state: 'answered', status: 200, body: '{}' });
});

test('one that was given up is free at once, and its repetition knows of it; another request with the key does not', async () => {
  const one = request('failed', 'first');
  await store.requestAnswers.begin(one);
  await store.requestAnswers.giveUp(one);
  const second = request('failed', 'second');
  expect(await store.requestAnswers.begin(second)).toEqual({ state: 'begun', first: 'first' });
  await store.requestAnswers.giveUp(second);
  const other = { ...request('failed', 'other'), fingerprint: Buffer.from('other') };
  expect(await store.requestAnswers.begin(other)).toEqual({ state: 'begun', first: 'other' });
});

test('a key that is used again after a day is that of a new request', async () => {
  const one = request('daily', 'monday');
  await store.requestAnswers.begin(one);
  await store.requestAnswers.answer(one, 202, '{}');
  await age('24 hours');
  expect(await store.requestAnswers.begin(request('daily', 'tuesday'))).toEqual({ state: 'begun', first: 'tuesday' });
});
