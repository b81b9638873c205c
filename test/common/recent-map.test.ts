import { RecentMap } from '../../src/common/recent-map.ts';

test('a further entry takes the place of the one that was not used for the longest time', () => {
  const map = new RecentMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([1, undefined, 3]);
  map.set('a', 4);
  map.set('d', 5);
  expect(['a', 'c', 'd'].map((key) => map.get(key))).toEqual([4, undefined, 5]);
  map.delete('a');
  expect(map.get('a')).toBeUndefined();
});

test('where entries have sizes, as many are evicted as a further one needs; one that is too large is not kept', () => {
  const map = new RecentMap<string, { size: number }>(10, ({ size }) => size);
  const kept = () => ['a', 'b', 'c', 'd'].filter((key) => map.get(key));
  map.set('a', { size: 3 });
  map.set('b', { size: 3 });
  map.set('c', { size: 4 });
  expect(kept()).toEqual(['a', 'b', 'c']);
  map.set('d', { size: 6 });
  expect(kept()).toEqual(['c', 'd']);
  map.set('c', { size: 1 });
  map.set('a', { size: 3 });
  expect(kept()).toEqual(['a', 'c', 'd']);
  map.set('b', { size: 11 });
  expect(kept()).toEqual(['a', 'c', 'd']);
  map.set('b', { size: 10 });
  expect(kept()).toEqual(['b']);
  expect(map.size).toBe(1);
});

test('the least recently used entries are evicted while a test says so', () => {
  const map = new RecentMap<string, number>(3);
  for (const [key, value] of [
    ['a', 1],
    ['b', 5],
    ['c', 2],
  ] as const)
    map.set(key, value);
  map.evictWhile((value) => value < 3);
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([undefined, 5, 2]);
});
