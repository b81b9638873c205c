import { inspect } from 'node:util';
import { loadConfig } from '../../src/platform/config.ts';
import { readEncryptionKeys } from '../../src/platform/encryption-keys.ts';

const KEY = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=';
const OTHER = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

test('the first key encrypts, and all keys decrypt', () => {
  const { first, byId } = readEncryptionKeys(` new:${KEY} , old:${OTHER}`);
  expect(first?.id).toBe('new');
  expect([...byId.keys()]).toEqual(['new', 'old']);
  expect(byId.get('old')?.export()).toEqual(Buffer.from(OTHER, 'base64'));
});

test('with "none" in the first place, and without keys, nothing is encrypted', () => {
  expect(readEncryptionKeys(`none,old:${KEY}`)).toMatchObject({ byId: new Map([['old', expect.anything()]]) });
  expect(readEncryptionKeys(`none,old:${KEY}`).first).toBeUndefined();
  expect(readEncryptionKeys('none')).toEqual({ byId: new Map() });
  expect(readEncryptionKeys(undefined)).toEqual({ byId: new Map() });
});

test.each([
  [KEY, 'entry 1 is not of the form id:key'],
  [`a:${KEY},`, 'entry 2 is not of the form id:key'],
  [`a:${KEY},none`, 'entry 2 is not of the form id:key'],
  [`none,${KEY}`, 'entry 2 is not of the form id:key'],
  [`${KEY}:a`, 'entry 1 is not of the form id:key'],
  [`a:${KEY}:b`, 'entry 1 is not of the form id:key'],
  [`a:${KEY.slice(4)}`, 'the key with the id "a" is not 32 bytes in base64'],
  ['a:secret', 'the key with the id "a" is not 32 bytes in base64'],
  [`a:${KEY},a:${OTHER}`, 'it has two keys with the id "a"'],
])('keys that cannot be used are an error at the start of every process, without the keys (%#)', (text, problem) => {
  const fix = 'Write id:key, several separated by commas; an id has 1 to 32 letters, digits, ".", "_" and "-". Make a key with: openssl rand -base64 32';
  const start = () => loadConfig({ LONGSHORE_ENCRYPTION_KEYS: text });
  expect(start).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: `LONGSHORE_ENCRYPTION_KEYS: ${problem}. ${fix}` }));
});

test('keys that are inspected or made JSON do not show themselves', () => {
  const keys = readEncryptionKeys(`a:${KEY}`);
  for (const text of [inspect(keys, { depth: 9, showHidden: true }), JSON.stringify(keys)]) {
    expect(text).not.toContain(KEY);
    expect(text).not.toMatch(/ab,? ?cd,? ?ef|171/i);
  }
});
