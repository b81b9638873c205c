import { cleanOutput } from '../../../src/sandbox/output/clean-output.ts';

test.each([
  ['plain text', 'a\nb\n', 'a\nb\n'],
  ['colours', '\u001B[1;31mred\u001B[0m text', 'red text'],
  ['titles and links', '\u001B]0;title\u0007x \u001B]8;;http://a\u001B\\link\u001B]8;;\u001B\\', 'x link'],
  ['cursor movements', 'a\u001B[2K\u001B[1Gb\u001B(B\u001B=', 'ab'],
  ['a progress bar', '10%\r50%\r100%\ndone\n', '100%\ndone\n'],
  ['a shorter rewrite', 'longer\rab', 'abnger'],
  ['Windows line ends', 'a\r\nb\r\n', 'a\nb\n'],
  ['backspaces', 'abc\b\bX', 'aX'],
  ['bells and NULs', 'a\u0007b\u0000c\td', 'abc\td'],
  ['unfinished codes', 'a\u001B[', 'a'],
])('%s', (_what, text, clean) => {
  expect(cleanOutput(text)).toBe(clean);
});

test('runs of similar lines keep the first and the last', () => {
  const lines = Array.from({ length: 50 }, (_, index) => `Downloading ${index + 1} of 50`);
  expect(cleanOutput(['begin', ...lines, 'end'].join('\n'))).toBe('begin\nDownloading 1 of 50\n[… 48 similar lines …]\nDownloading 50 of 50\nend');
});

test('three similar lines, empty lines and columns of numbers stay', () => {
  for (const text of ['a 1\na 2\na 3', '\n\n\n\n\n', '1\n2\n3\n4\n5']) expect(cleanOutput(text)).toBe(text);
});

test('is fast on hostile text', () => {
  expect(cleanOutput('\u001B]'.repeat(20_000)).length).toBeLessThan(40_001);
  expect(cleanOutput('\r'.repeat(100_000))).toBe('');
});

test('more similar lines than a call can have arguments are no problem', () => {
  const text = '\n'.repeat(300_000);
  expect(cleanOutput(text)).toBe(text);
});
