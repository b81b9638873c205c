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
