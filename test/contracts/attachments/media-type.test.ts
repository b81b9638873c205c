import { mediaTypeOf, textOf } from '../../../src/contracts/attachments/media-type.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';

test.each([
  ['\x89PNG\r\n\x1a\n…', 'text/plain', 'image', 'image/png'],
  ['\xff\xd8\xff\xe0JFIF', undefined, 'image', 'image/jpeg'],
  ['GIF89a', 'application/pdf', 'image', 'image/gif'],
  ['RIFF\x10\0\0\0WEBPVP8 ', 'image/png', 'image', 'image/webp'],
  ['%PDF-1.7', 'image/png', 'file', 'application/pdf'],
  [SVG, 'image/svg+xml', 'file', 'text/plain'],
  ['<html><script>', 'image/png', 'file', 'text/plain'],
  ['\x89PNG', 'image/png', 'file', 'application/octet-stream'],
  ['RIFF', 'image/webp', 'file', 'text/plain'],
  ['no pdf', 'application/pdf', 'file', 'text/plain'],
  ['a,b', 'Text/CSV; charset=utf-8', 'file', 'text/csv'],
  ['a\0b', 'application/zip', 'file', 'application/zip'],
  ['a\0b', undefined, 'file', 'application/octet-stream'],
  ['', undefined, 'file', 'text/plain'],
  ['x', 'text/html\r\nset-cookie: a=b', 'file', 'text/plain'],
  ['x', '../../etc/passwd', 'file', 'text/plain'],
  ['x', 'a'.repeat(1_000_000), 'file', 'text/plain'],
])('%j, said to be %j, is %s %s', (content, said, type, mediaType) => {
  expect(mediaTypeOf(bytes(content), said)).toEqual({ type, mediaType });
});

test('a text is UTF-8 without NUL; one that is cut may end within a character', () => {
  const whole = Buffer.from('aé');
  expect(textOf(whole)).toBe('aé');
  expect(textOf(whole.subarray(0, 2))).toBeUndefined();
  expect(textOf(whole.subarray(0, 2), true)).toBe('a');
  expect(textOf(Buffer.from('a\0b'))).toBeUndefined();
});
