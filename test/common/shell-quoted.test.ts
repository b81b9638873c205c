import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { shellQuoted, shellWord } from '../../src/common/shell-quoted.ts';

test('a shell reads back what was quoted, whatever it is', () => {
  const words = ['', "it's", '$HOME `id` "x" \\', '-n', '*', 'a\nb', '😀', ...fc.sample(fc.string({ unit: 'binary-ascii', maxLength: 20 }), 200)].map((word) =>
    word.replaceAll('\0', ''),
  );
  for (const quote of [shellQuoted, shellWord]) {
    const script = `printf '%s\\0' ${words.map(quote).join(' ')}`;
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(words);
  }
});

test('a word that needs none is shown without quotes', () => {
  expect(shellWord('/home/user/a-b_c.txt')).toBe('/home/user/a-b_c.txt');
  expect(shellWord('a b')).toBe("'a b'");
  expect(shellWord('')).toBe("''");
});
