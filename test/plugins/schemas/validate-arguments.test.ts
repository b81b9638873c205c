import type { Json, JsonObject } from '../../../src/contracts/json.ts';
import { createCompiler } from '../../../src/plugins/schemas/validate-arguments.ts';

const compile = createCompiler();

function problems(parameters: JsonObject, input: unknown): string[] | Promise<string[]> {
  return compile('weather', 'lookup', 'parameters', parameters)(input as Json);
}

const place: JsonObject = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 2 },
    unit: { enum: ['C', 'F'] },
    days: { type: 'array', items: { type: 'integer' } },
    mail: { type: 'string', format: 'email' },
  },
  required: ['city'],
  additionalProperties: false,
};

test('good arguments have no problems', () => {
  expect(problems(place, { city: 'Oslo', unit: 'C', days: [1, 2] })).toEqual([]);
});

test.each<[string, unknown, string[]]>([
  ['a wrong type', { city: 7 }, ['/city: expected string, got number']],
  ['a wrong type in a list', { city: 'Oslo', days: [1, '2'] }, ['/days/1: expected integer, got string']],
  ['null', { city: null }, ['/city: expected string, got null']],
  ['a missing argument', {}, ['/city: missing']],
  ['an unknown argument', { city: 'Oslo', town: 1 }, ['/town: not known (known: city, unit, days, mail)']],
  ['a value outside of an enum', { city: 'Oslo', unit: 'K' }, ['/unit: expected one of "C", "F", got "K"']],
  ['a rule of the schema', { city: 'O' }, ['/city: must NOT have fewer than 2 characters, got "O"']],
  ['a format', { city: 'Oslo', mail: 'x' }, ['/mail: must match format "email", got "x"']],
  ['all problems at once', { city: 7, unit: 'K' }, ['/city: expected string, got number', '/unit: expected one of "C", "F", got "K"']],
  ['no object at all', 'Oslo', ['/: expected object, got string']],
])('a problem names its path: %s', (_, input, expected) => {
  expect(problems(place, input)).toEqual(expected);
});

test('long values are cut in messages', async () => {
  expect((await problems(place, { city: 'Oslo', unit: 'x'.repeat(5000) }))[0]?.length).toBeLessThan(200);
});

test('a key __proto__ is refused at any depth', () => {
  expect(problems({ type: 'object' }, JSON.parse('{ "a": [{ "__proto__": { "admin": true } }] }'))).toEqual(['/a/0/__proto__: this key is not accepted']);
});

test('inherited properties never satisfy a schema', () => {
  expect(problems({ type: 'object', required: ['toString'] }, {})).toEqual(['/toString: missing']);
});

test('arguments nested without end are refused', async () => {
  const deep = JSON.parse(`{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`) as Json;
  expect((await problems({ type: 'object' }, deep))[0]).toContain('nested deeper than 100 levels');
});

test('draft 7 and 2020-12 mean what they say', () => {
  const draft7 = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { pair: { items: [{ type: 'string' }, { type: 'number' }] } },
  };
  expect(problems(draft7, { pair: ['a', 'b'] })).toEqual(['/pair/1: expected number, got string']);
  const draft2020 = { type: 'object', properties: { pair: { prefixItems: [{ type: 'string' }, { type: 'number' }] } } };
  expect(problems(draft2020, { pair: ['a', 'b'] })).toEqual(['/pair/1: expected number, got string']);
});

test.each<JsonObject>([
  { $async: true, type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
  { $async: 'yes', type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
  { type: 'object', required: ['a'], properties: { a: { $async: true, type: 'string' } } },
  { type: 'object', required: ['a'], properties: { a: { $ref: '#/$defs/text' } }, $defs: { text: { $async: true, type: 'string' } } },
])('a keyword of the engine that JSON Schema does not have changes nothing: %j', async (schema) => {
  await compile('weather', 'lookup', 'parameters', schema).compiled();
  expect([await problems(schema, {}), await problems(schema, { a: 1 }), await problems(schema, { a: 'b' })]).toEqual([
    ['/a: missing'],
    ['/a: expected string, got number'],
    [],
  ]);
});

test.each<JsonObject>([
  { type: 'object', properties: { a: { anyOf: [{ type: 'string' }], nullable: true } } },
  { type: 'object', properties: { a: { type: ['null', 'string'], nullable: false } } },
])('a nullable of OpenAPI that does not fit the type makes no schema unusable: %j', async (schema) => {
  await compile('weather', 'lookup', 'parameters', schema).compiled();
  expect([await problems(schema, { a: 'b' }), await problems(schema, { a: 1 })]).toEqual([[], [expect.stringMatching(/^\/a: /)]]);
});

test('two tools may use one $id', () => {
  const schema = { $id: 'https://example.com/place', type: 'object' };
  expect([problems(schema, {}), problems(schema, {})]).toEqual([[], []]);
});

test('a schema that is wrong is refused, naming plugin and tool', () => {
  expect(() => problems({ type: 'object', properties: { city: { type: 'text' } } }, {})).toThrow(
    /Plugin "weather": the parameters of tool "lookup" are not a valid JSON Schema/,
  );
});

test.each(['https://example.com/place.json', 'place.json#/$defs/a', 'file:///etc/passwd', '#/$defs/none'])(
  'a reference to what is not in the schema (%s) is refused, and not fetched',
  async ($ref) => {
    const refused = async () => compile('weather', 'lookup', 'parameters', { properties: { city: { $ref } } }).compiled();
    await expect(refused()).rejects.toMatchObject({
      code: 'PLUGIN_INVALID',
      message: expect.stringContaining(
        `Plugin "weather": the parameters of tool "lookup" are not a valid JSON Schema (it refers to "${$ref}", which is not in it; references to other documents are not fetched, put what they name under "$defs")`,
      ),
    });
  },
);

test.each([
  ['4', 'http://json-schema.org/draft-04/schema#', { minimum: 3, exclusiveMinimum: true }],
  ['6', 'http://json-schema.org/draft-06/schema#', { exclusiveMinimum: 3 }],
])('draft %s is read where $schema names it', async (_, $schema, days) => {
  const schema = { $schema, type: 'object', properties: { days: { type: 'number', ...days } }, required: ['days'] };
  expect(await problems(schema, { days: 4 })).toEqual([]);
  expect((await problems(schema, { days: 3 }))[0]).toMatch(/^\/days: /);
  expect(await problems(schema, {})).toEqual(['/days: missing']);
});
