import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createExcessScan,
  excessOf,
  excessOfValue,
  inexactNumberIn,
  mayHaveLostDigits,
  parseForeign,
  tryParseForeign,
} from '../../src/contracts/foreign-json.ts';
import { cpuMs } from '../support/cpu-time.ts';

const nested = (depth: number, inside = '1') => `${'['.repeat(depth)}${inside}${']'.repeat(depth)}`;
const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join()}}`;

const DEEP = 'is nested more than 500 levels deep';
const KEYS = 'has more than 200000 keys, objects and lists';
const ELEMENTS = 'has more than 1000000 elements';

const scan = (json: string) => {
  const scanned = createExcessScan();
  for (const byte of Buffer.from(json)) scanned.take(byte);
  return scanned.found();
};

describe.each([
  ['a text', excessOf],
  ['bytes', scan],
])('too much JSON is recognized in %s', (_, look) => {
  test.each<[string, string, string | undefined]>([
    ['500 levels', nested(500), undefined],
    ['501 levels', nested(501), DEEP],
    ['objects', `${'{"a":'.repeat(501)}1${'}'.repeat(501)}`, DEEP],
    ['many beside each other', `[${Array.from({ length: 5_000 }, () => '[{}]').join()}]`, undefined],
    ['brackets in a string', JSON.stringify('['.repeat(5_000)), undefined],
    ['brackets behind an escaped quote', JSON.stringify(`"${'['.repeat(5_000)}\\`), undefined],
    ['brackets behind a string that ends with a backslash', `["\\\\",${nested(500)}]`, DEEP],
    ['no end of a string', `"${'['.repeat(5_000)}`, undefined],
    ['a million levels that never end', '['.repeat(1_000_000), DEEP],
    ['199,999 keys', keys(199_999), undefined],
    ['200,000 keys', keys(200_000), KEYS],
    ['objects without keys', `[${'{},'.repeat(200_000)}{}]`, KEYS],
    ['a million numbers', `[${'0,'.repeat(999_999)}0]`, undefined],
    ['more numbers', `[${'0,'.repeat(1_000_001)}0]`, ELEMENTS],
    ['16 MB of text', JSON.stringify({ text: ',:[{'.repeat(4_000_000) }), undefined],
  ])('%s', (__, json, excess) => {
    expect(look(json)).toBe(excess);
  });
});

test('the same holds for values', () => {
  const circular: unknown[] = [];
  circular.push(circular);
  expect(excessOfValue(JSON.parse(nested(500)))).toBeUndefined();
  expect(excessOfValue(JSON.parse(nested(501)))).toBe(DEEP);
  expect(excessOfValue(JSON.parse(nested(100_000)))).toBe(DEEP);
  expect(excessOfValue(circular)).toBe(DEEP);
  expect(excessOfValue(JSON.parse(keys(100_000)))).toBeUndefined();
  expect(excessOfValue(JSON.parse(keys(200_000)))).toBe(KEYS);
  expect(excessOfValue(Array.from({ length: 1_000_001 }))).toBe(ELEMENTS);
  expect(excessOfValue({ text: 'x'.repeat(100_000_000), bytes: Buffer.alloc(2_000_000) })).toBeUndefined();
  for (const plain of [null, undefined, 1, 'a', true, () => 1]) expect(excessOfValue(plain)).toBeUndefined();
});

test('JSON of others is parsed, or refused with the reason', () => {
  expect(parseForeign('{"a":[1]}')).toEqual({ a: [1] });
  expect(() => parseForeign(nested(100_000))).toThrow(`it ${DEEP}`);
  expect(() => parseForeign('{')).toThrow(SyntaxError);
  expect(tryParseForeign(nested(100_000))).toBeUndefined();
});

test.each<[string, string | undefined]>([
  ['{"id":9007199254740991,"less":-9007199254740991}', undefined],
  ['{"id":9007199254740993}', '9007199254740993'],
  ['{"id":-12345678901234567890}', '-12345678901234567890'],
  // As JavaScript itself writes a large number, and the same with its last digits, which it would not show.
  ['[1152921504606847000,1e21,1.5e300]', undefined],
  ['[1152921504606846976]', '1152921504606846976'],
  ['[{"a":[1,2,1000000000000000000000]}]', '1000000000000000000000'],
  ['[3.14159265358979323846,0.1,-0,1E+2]', undefined],
  ['[1e400]', '1e400'],
  ['[1e-400]', undefined],
  [`{"text":"12345678901234567890","quoted\\"12345678901234567890":"\\\\"}`, undefined],
  ['{"a":"\\\\","b":12345678901234567890}', '12345678901234567890'],
  [`[${'1'.repeat(60)}]`, `${'1'.repeat(40)}…`],
])('%s has numbers that would be changed: %s', (json, number) => {
  expect(inexactNumberIn(json)).toBe(number);
  const parsed = tryParseForeign(json);
  if (number !== undefined) expect(mayHaveLostDigits(parsed)).toBe(true);
});

test('values with exact numbers have lost no digits', () => {
  for (const value of [undefined, null, 'a', 9_007_199_254_740_991, 0.1, 1e-300, { a: [1, { b: -1 }] }]) expect(mayHaveLostDigits(value)).toBe(false);
  for (const value of [2 ** 53, Infinity, { a: [1, { b: -(2 ** 60) }] }]) expect(mayHaveLostDigits(value)).toBe(true);
});

test('it takes no more than the length of a text', () => {
  const since = cpuMs();
  for (const json of [`"${'\\\\'.repeat(4_000_000)}"`, `[${'"\\"",'.repeat(999_999)}1]`, `"${'\\"'.repeat(4_000_000)}"`])
    expect(excessOf(json)).toBeUndefined();
  for (const json of [
    `"1234567890123456${'\\\\'.repeat(4_000_000)}"`,
    `[1234567890123456${',"\\\\"'.repeat(999_999)}]`,
    `[${'1'.repeat(8_000_000)}]`,
    '-'.repeat(4_000_000),
  ])
    inexactNumberIn(json);
  expect(cpuMs() - since).toBeLessThan(5_000);
});

/** Files that parse JSON in another way, and why that JSON is no stranger's, or is measured before. */
const ALLOWED: Record<string, string> = {
  'cli/conversations/approve.ts': 'an argument of the command line, which the client measures',
  'cli/output/call-text.ts': 'what the worker has stored of a result, cut to what is shown',
  'cli/plugins/configure-plugin.ts': 'an argument of the command line, which the client measures',
  'platform/own-version.ts': 'package.json of this package',
  'client/http/http-events.ts': 'events of the service that the caller has named, which measured what is in them',
  'client/http/http-link.ts': 'an answer of the service that the caller has named',
  'contracts/foreign-json.ts': 'here it is measured',
  'contracts/json.ts': 'a comment',
  'images/template-images.ts': 'names that the Docker engine has given to images',
  'setup/gvisor.ts': "settings of the machine's engine",
  'setup/postgres-files.ts': 'a list of the embedded Postgres',
  'setup/read-log.ts': "lines of the worker's own log",
  'setup/server-process.ts': 'a file of its own',
  'store/conversation/kept-transcripts.ts': 'what the worker has stored, which was measured before',
  'store/database/database-failures.ts': 'what a trigger of its own says',
  'store/sign-ins/sealed-json.ts': 'what it has sealed itself, which was measured before',
  'models/check-expectation.ts': "what the worker has stored of a result, in a script of the operator's",
  'plugins/builtin/tools.ts': "a list of ids, taken from the result of a tool of the worker's own",
  'plugins/dialects/maibot/to-plugin.ts': 'a copy of what was given as a value',
  'plugins/isolates/guest/guest.ts': "in the plugin's process: what its worker sends, and a copy",
  'plugins/isolates/guest/web/body.ts': "in the plugin's process",
  'plugins/bundle/not-in-a-compartment.ts': 'a text of advice',
  'plugins/dialects/mcp/list-in-sandbox.ts': 'a file of its own',
  'plugins/dialects/mcp/connection/open-transport.ts': 'what the library sends',
  'plugins/dialects/mcp/connection/program-transport.ts': 'measured before',
  'plugins/testing/testing.ts': 'a copy, in tests of plugins',
  'sandbox/protocol/validate-messages.ts': 'measured before',
  'sandbox/engine/local/directories.ts': 'a file of its own',
  'workflows/state/conversation-state.ts': 'a copy',
};

test('JSON is parsed without being measured in few places only, none of which takes it from a stranger', async () => {
  const files = (await readdir('src', { recursive: true })).filter((file) => file.endsWith('.ts'));
  const parsing = await Promise.all(files.map(async (file) => (/\bJSON\.parse\(/.test(await readFile(join('src', file), 'utf8')) ? [file] : [])));
  expect(parsing.flat().toSorted()).toEqual(Object.keys(ALLOWED).toSorted());
});
