import { isTooDeep } from '../src/json-depth.ts';

const nested = (depth: number, inside = '1') => `${'['.repeat(depth)}${inside}${']'.repeat(depth)}`;

test.each<[string, string, boolean]>([
  ['500 levels', nested(500), false],
  ['501 levels', nested(501), true],
  ['objects', `${'{"a":'.repeat(501)}1${'}'.repeat(501)}`, true],
  ['many beside each other', `[${Array.from({ length: 5_000 }, () => '[{}]').join()}]`, false],
  ['brackets in a string', JSON.stringify('['.repeat(5_000)), false],
  ['brackets behind an escaped quote', JSON.stringify(`"${'['.repeat(5_000)}\\`), false],
  ['brackets behind a string that ends with a backslash', `["\\\\",${nested(500)}]`, true],
  ['no end of a string', `"${'['.repeat(5_000)}`, false],
  ['a million levels that never end', '['.repeat(1_000_000), true],
])('nesting is told from the text: %s', (_, json, tooDeep) => {
  expect(isTooDeep(json)).toBe(tooDeep);
});

test('it takes no more than the length of a text', () => {
  const since = performance.now();
  for (const json of [`"${'\\\\'.repeat(4_000_000)}"`, `[${'"\\"",'.repeat(1_000_000)}1]`, `"${'\\"'.repeat(4_000_000)}"`]) expect(isTooDeep(json)).toBe(false);
  expect(performance.now() - since).toBeLessThan(5_000);
});
