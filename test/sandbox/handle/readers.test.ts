import { createCodeReader } from '../../../src/sandbox/handle/code/code-reader.ts';
import { createMask } from '../../../src/sandbox/handle/secrets/mask.ts';
import { createServerReader } from '../../../src/sandbox/handle/code/server-reader.ts';

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const MANY = `[${'{},'.repeat(250_000)}{}]`;

test.each([
  ['nested deeply', DEEP],
  ['of many parts', MANY],
  ['no JSON', '{'],
])('a value of code that is %s is left out, and counted', (_, value) => {
  const told: unknown[] = [];
  const reader = createCodeReader({ onResult: (data) => void told.push(data) });
  const forged = `{"type":"result","data":{"json":${value}}}`;
  reader.push(Buffer.from(`${forged}\n{"type":"result","data":{"text":"fine"}}\n{"type":"ended"}\n`));
  expect(reader.end()).toEqual({
    stdout: '',
    stderr: '',
    truncated: true,
    leftOut: { values: 0, bytes: forged.length },
    values: [{ text: 'fine' }],
    ended: {},
  });
  expect(told).toEqual([{ text: 'fine' }]);
});

test('of a value with a number that JavaScript would round, the text is kept', () => {
  const reader = createCodeReader();
  const text = "{'id': 9007199254740993}";
  const value = (id: string, plain: string) => `{"type":"result","data":{"application/json":{"id":${id}},"text/plain":${JSON.stringify(plain)}}}\n`;
  reader.push(Buffer.from(`${value('9007199254740993', text)}${value('1', '9007199254740993')}`));
  expect(reader.end().values).toEqual([{ 'text/plain': text }, { 'application/json': { id: 1 }, 'text/plain': '9007199254740993' }]);
});

test.each([
  ['nested deeply', DEEP, 'its answer is nested more than 500 levels deep'],
  ['of many parts', MANY, 'its answer has more than 200000 keys, objects and lists'],
])("a server's answer that is %s is a refusal", (_, value, message) => {
  const reader = createServerReader({});
  reader.push(Buffer.from(`{"type":"made"}\n{"type":"answer","result":{"a":${value}},"server":{}}\n`));
  expect(reader.answer()).toEqual({ outcome: 'refused', code: -32_603, message });
});

test('lines that are no JSON say nothing about a request', () => {
  const reader = createServerReader({});
  reader.push(Buffer.from('{\n[]\nnull\n'));
  expect(reader.answer()).toBeUndefined();
});

test("of a secret that was cut at the start of a server's last words, nothing is shown", () => {
  const reader = createServerReader({}, createMask(['pässwörd-4711-shut']));
  const told = (why: string) => reader.push(Buffer.from(`${JSON.stringify({ type: 'gone', why })}\n`));
  const rest = ` ${'x'.repeat(480)}`;
  told(`wörd-4711-shut${rest}`);
  expect(reader.answer()).toEqual({ outcome: 'gone', why: `${'*'.repeat(15)}${rest}` });
  told(`\uFFFDsswörd-4711-shut${rest}`);
  expect(reader.answer()).toEqual({ outcome: 'gone', why: `${'*'.repeat(17)}${rest}` });
  told('shut down');
  expect(reader.answer()).toEqual({ outcome: 'gone', why: 'shut down' });
});
