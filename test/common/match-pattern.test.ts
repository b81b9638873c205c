import * as fc from 'fast-check';
import { matchesPattern } from '../../src/common/match-pattern.ts';

test.each([
  ['files:*', 'files:read', true],
  ['files:*', 'files:', true],
  ['files:*', 'file:read', false],
  ['shell:run', 'shell:run', true],
  ['shell:run', 'shell:runs', false],
  ['*', '', true],
  ['rm *', 'rm -rf /', true],
  ['rm *', 'rm', false],
  ['*rm*-rf*', 'cd /; rm\n-rf x', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['a.c', 'abc', false],
])('%j on %j is %j', (pattern, text, expected) => {
  expect(matchesPattern(pattern, text)).toBe(expected);
});

test('it agrees with the same pattern as a regular expression', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', '*', '\n'), maxLength: 8 });
  fc.assert(
    fc.property(texts, texts, (pattern, text) => {
      const reference = new RegExp(`^${pattern.replaceAll(/\*+/g, '[^]*')}$`).test(text);
      expect(matchesPattern(pattern, text)).toBe(reference);
    }),
    { numRuns: 500 },
  );
});
