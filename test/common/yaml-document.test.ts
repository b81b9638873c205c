import { readYaml } from '../../src/common/yaml-document.ts';
import { cpuMs } from '../support/cpu-time.ts';

const blocks = Array.from({ length: 300 }, (_, index) => `${' '.repeat(index)}a:`).join('\n');

test.each([
  ['flow sequences', 'a: 1\nb: ' + '['.repeat(20_000), { syntax: 'it is nested more than 100 deep', line: 2 }],
  ['closed ones', '['.repeat(20_000) + ']'.repeat(20_000), { syntax: 'it is nested more than 100 deep', line: 1 }],
  ['flow maps', '{a: '.repeat(20_000), { syntax: 'it is nested more than 100 deep', line: 1 }],
  ['sequences in a line', '- '.repeat(20_000) + 'a', { syntax: 'it is nested more than 100 deep', line: 1 }],
  ['blocks', blocks, { syntax: 'it is nested more than 100 deep', line: expect.any(Number) }],
  ['anchors around themselves', 'a: &a [*a,'.repeat(5_000), { syntax: 'it is nested more than 100 deep', line: 1 }],
  [
    'a long chain of aliases',
    Array.from({ length: 20_000 }, (_, at) => `a${at}: &a${at} [${at === 0 ? '' : `*a${at - 1}`}]`).join('\n'),
    { syntax: 'it has more than 300 aliases', line: 302 },
  ],
  ['many errors', '[}'.repeat(10_000), { syntax: expect.stringMatching(/at line 1, column \d+$/), line: 1 }],
  ['a long text', 'a: ' + 'x'.repeat(1_000_000), { syntax: 'it has 1000003 characters, and 1000000 are read at most' }],
  ['a repeated key', 'a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n', { syntax: 'Map keys must be unique at line 5, column 3', line: 5 }],
])('a text that would hold up or end the process is a problem: %s', (_, text, problem) => {
  const since = cpuMs();
  const { cause: _cause, ...found } = readYaml(text) as { cause?: unknown };
  expect(found).toEqual(problem);
  expect(cpuMs() - since).toBeLessThan(8_000);
});

test('files as people write them are read, however many keys they have', () => {
  const nested = `${'['.repeat(90)}1${']'.repeat(90)}`;
  const since = cpuMs();
  const many = Array.from({ length: 40_000 }, (_, at) => `k${at}: ${at}`).join('\n');
  expect(Object.keys((readYaml(many) as { value: object }).value)).toHaveLength(40_000);
  expect(cpuMs() - since).toBeLessThan(8_000);
  expect(readYaml(`a: &x {b: 1}\nc: *x\nd: ${nested}`)).toMatchObject({ value: { a: { b: 1 }, c: { b: 1 } } });
  expect(readYaml('')).toMatchObject({ value: null });
});

test.each([
  ['a number and its text', '1: a\n"1": b', 'Map keys must be unique at line 2, column 1', 2],
  ['a word of YAML and its text', 'a:\n  true: b\n  "true": c', 'Map keys must be unique at line 3, column 3', 3],
  ['nothing and an empty text', '~: a\n"": b', 'Map keys must be unique at line 2, column 1', 2],
  ['an alias and what it stands for', 'a: &x b\n*x : 1\nb: 2', 'Map keys must be unique at line 3, column 1', 3],
  ['a tag', 'a: 1\nb: !secret c', 'Unresolved tag: !secret at line 2, column 4', 2],
])('what would lose a value or its meaning is refused: %s', (_, text, syntax, line) => {
  expect(readYaml(text)).toEqual({ syntax, line });
});

test('tags that YAML itself has are read', () => {
  expect(readYaml('a: !!str 1\nb: !!int "2"\nc: !!map {d: 1}')).toMatchObject({ value: { a: '1', b: 2, c: { d: 1 } } });
});
