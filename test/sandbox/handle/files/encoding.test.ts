import { decodeText, detectEncoding, encodeText } from '../../../../src/sandbox/handle/files/encoding.ts';

const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_value, byte) => byte));

test('each byte of windows-1252 is the character that this encoding gives it, and back', () => {
  const text = decodeText(EVERY_BYTE, 'windows-1252', 'a.txt');
  expect(text).toHaveLength(256);
  expect(text.slice(0x7e, 0xa1)).toBe('~\x7f€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ\xa0');
  expect(encodeText(text, 'windows-1252')).toEqual(EVERY_BYTE);
});

test('a large file of bytes that are special in its encoding is read, and the process lives on', () => {
  const bytes = Buffer.alloc(64 * 1024 * 1024, 0x80);
  expect(detectEncoding(bytes)).toBe('windows-1252');
  const text = decodeText(bytes, 'auto', 'a.txt');
  expect(text).toHaveLength(bytes.length);
  expect(text.slice(-3)).toBe('€€€');
});
