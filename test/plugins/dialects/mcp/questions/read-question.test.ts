import { readQuestion } from '../../../../../src/plugins/dialects/mcp/questions/read-question.ts';

const form = (properties: object, more: object = {}) => ({ message: 'Hello', requestedSchema: { type: 'object', properties, ...more } });
const page = (url: string) => ({ mode: 'url', message: 'Hello', url, elicitationId: '1' });

test('a form is shown with its labels, and with what the server suggests', () => {
  expect(
    readQuestion('far', form({ name: { type: 'string', title: 'Na\u202eme', default: 'Ada' }, old: { type: 'boolean' } }, { required: ['name'] })),
  ).toEqual({
    server: 'far',
    message: 'Hello',
    schema: {
      type: 'object',
      properties: { name: { type: 'string', title: 'Na\\u202eme', default: 'Ada' }, old: { type: 'boolean' } },
      required: ['name'],
      additionalProperties: false,
    },
    answer: { name: 'Ada' },
  });
});

test('an address is shown as a browser reads it', () => {
  expect(readQuestion('far', page('https://pаypal.example/a b'))).toEqual({
    server: 'far',
    message: 'Hello',
    url: 'https://xn--pypal-4ve.example/a%20b',
  });
});

test('a long message with hidden characters is cut and made visible', () => {
  const { message } = readQuestion('far', { ...page('https://pay.example/'), message: `\u001b[2J${'a'.repeat(9_000)}` });
  expect(message.startsWith('\\u001b[2Jaaa')).toBe(true);
  expect(message.length).toBeLessThan(2_100);
});

test.each([
  ['no question', 7, 'it is neither a form of texts, numbers, truth values and choices nor a url'],
  ['a form with objects', form({ a: { type: 'object' } }), 'it is neither a form of texts, numbers, truth values and choices nor a url'],
  ['a script', page('javascript:alert(1)'), 'its url is not an http or https address'],
  ['a user in an address', page('https://bank.example@evil.example/'), 'its url contains a user or a password, which could be mistaken for a host'],
  ['a long address', page(`https://pay.example/${'a'.repeat(2_000)}`), 'its url is longer than 2000 characters'],
  ['a hidden name', form({ 'na\u200bme': { type: 'string' } }), 'its form contains "na\\\\u200bme", which has characters that people cannot see'],
  ['a hidden choice', form({ a: { type: 'string', enum: ['x\u202e'] } }), 'its form contains "x\\\\u202e", which has characters that people cannot see'],
  ['a large form', form({ a: { type: 'string', description: 'a'.repeat(8_000) } }), 'its form has 8100 characters, and 8000 are allowed'],
  ['many fields', form(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}`, { type: 'string' }]))), 'its form has 51 fields, and 50 are allowed'],
])('%s is refused, and the server is told why', (_what, given, problem) => {
  expect(() => readQuestion('far', given)).toThrow(problem);
});
