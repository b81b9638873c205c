import { editText } from '../../../../src/sandbox/handle/files/edit-text.ts';
import { encodeText } from '../../../../src/sandbox/handle/files/encoding.ts';

const edited = (bytes: Buffer, oldText: string, newText: string) => editText(bytes, { oldText, newText }, 'a.txt');

test.each([
  ['newlines', '\n'],
  ['carriage returns and newlines', '\r\n'],
  ['letters', 'a'],
])('a large file of nothing but %s does not fill the worker with the places of it', (_what, repeated) => {
  const bytes = Buffer.alloc(64 * 1024 * 1024, repeated);
  const before = process.memoryUsage().heapUsed;
  expect(() => edited(bytes, repeated, 'b')).toThrow('the text to replace is in it more than 1000 times');
  expect(() => edited(bytes, 'not there', 'b')).toThrow('the text to replace is not in it');
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
});

describe.each(['utf-8', 'windows-1252', 'utf-16le', 'utf-16be'])('in %s', (encoding) => {
  const mark = encoding.startsWith('utf-16') ? '\uFEFF' : '';
  // Not valid as UTF-8, which is how the encoding of single bytes is known.
  const bytesOf = (text: string) => encodeText(`${mark}é ${text}`, encoding);

  test('a text that is there once is replaced, and its line told', () => {
    const { bytes, edit } = edited(bytesOf('one\ntwo\nthree\n'), 'two\nthree', 'zwei\ndrei');
    expect(bytes).toEqual(bytesOf('one\nzwei\ndrei\n'));
    expect(edit).toEqual({ change: 'updated', line: 2 });
  });

  test('the ends of lines of the file are kept', () => {
    const { bytes, edit } = edited(bytesOf('one\r\ntwo\r\n'), 'one\ntwo\n', 'eins\nzwei\n');
    expect(bytes).toEqual(bytesOf('eins\r\nzwei\r\n'));
    expect(edit.line).toBe(1);
    expect(edited(bytesOf('one\r\ntwo\n'), 'two\n', 'zwei\n').bytes).toEqual(bytesOf('one\r\nzwei\n'));
  });

  test('places that overlap are several', () => {
    expect(() => edited(bytesOf('aaa\naa'), 'aa', 'b')).toThrow('is in it 3 times (lines 1, 1, 2); it was not changed');
    expect(() => edited(bytesOf('x\n'.repeat(12)), 'x', 'b')).toThrow('is in it 12 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more)');
  });
});

test('a text of UTF-16 is not found between two characters', () => {
  for (const encoding of ['utf-16le', 'utf-16be']) expect(() => edited(encodeText('\uFEFF\u6100\u6100', encoding), 'a', 'b')).toThrow('is not in it');
});
