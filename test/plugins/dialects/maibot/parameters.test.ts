import type { Json, JsonObject } from '../../../../src/contracts/json.ts';
import { ToolParameterInfo, ToolParamType, type ToolParameterFields } from '../../../../src/plugins/dialects/maibot/sdk.ts';
import { schemaOf } from '../../../../src/plugins/dialects/maibot/parameters.ts';
import { createCompiler } from '../../../../src/plugins/schemas/validate-arguments.ts';
import { call, hooks, problemOfClass, toolOf, useSearch } from './search.ts';

useSearch();

describe('the definition of parameters', () => {
  test('a list of ToolParameterInfo becomes the JSON Schema of an object; plain objects with its fields do as well', () => {
    expect(toolOf('search_web').parameters).toEqual({
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Search keywords' },
        limit: { type: 'integer', description: 'Maximum number of results to return', default: 5 },
      },
      required: ['query'],
    });
    const fields: ToolParameterFields = { name: 'query', paramType: ToolParamType.STRING };
    expect(schemaOf([fields])).toEqual(schemaOf([new ToolParameterInfo(fields)]));
  });

  test('a dict of JSON Schemas is taken too; a parameter of it is optional unless it says that it is required', () => {
    expect(toolOf('get_weather').parameters).toEqual({
      type: 'object',
      properties: { city: { type: 'string', description: 'City name' }, unit: { type: 'string', enum: ['C', 'F'], default: 'C' } },
      required: ['city'],
    });
  });

  test('the JSON Schema of a whole object passes as it is, with and without named properties', async () => {
    expect(toolOf('whole').parameters).toEqual({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false });
    expect(await call('whole', { a: 4 })).toBe(8);
    expect(toolOf('both').parameters).toEqual({ type: 'object', additionalProperties: true });
  });

  test('a parameter that cannot be meant is an error that names tool and parameter', async () => {
    const list = (parameters: string) => `${hooks} @tool('a', { description: 'A', parameters: ${parameters} }) a() {}`;
    expect(await problemOfClass('typed', list(`[{ name: 'x', paramType: 'date' }]`))).toBe(
      'tool "a": parameter "x" has the type "date"; known are string, integer, number, float, boolean, array, object',
    );
    expect(await problemOfClass('double', list(`[{ name: 'x', paramType: 'string' }, { name: 'x', paramType: 'string' }]`))).toBe(
      'tool "a": two parameters have the name "x"',
    );
    expect(await problemOfClass('plain', list(`{ x: 'string' }`))).toBe('tool "a": parameter "x" is no JSON Schema');
  });
});

describe('the fields of ToolParameterInfo', () => {
  const { ARRAY, OBJECT, STRING } = ToolParamType;
  const rows: [statement: string, fields: Omit<ToolParameterFields, 'name'>, schema: JsonObject, required: boolean][] = [
    ['paramType is its type', { paramType: STRING }, { type: 'string' }, true],
    ['description is its description', { paramType: STRING, description: 'What' }, { type: 'string', description: 'What' }, true],
    ['required is true where it is left out', { paramType: STRING }, { type: 'string' }, true],
    ['required may be false', { paramType: STRING, required: false }, { type: 'string' }, false],
    ['enumValues are all that it may be', { paramType: STRING, enumValues: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }, true],
    ['an empty list of enumValues limits nothing', { paramType: STRING, enumValues: [] }, { type: 'string' }, true],
    ['default is its default', { paramType: STRING, required: false, default: 'a' }, { type: 'string', default: 'a' }, false],
    ['a default may be null', { paramType: STRING, required: false, default: null }, { type: ['string', 'null'], default: null }, false],
    ['itemsSchema describes elements', { paramType: ARRAY, itemsSchema: { type: 'string' } }, { type: 'array', items: { type: 'string' } }, true],
    ['itemsSchema counts for arrays alone', { paramType: STRING, itemsSchema: { type: 'string' } }, { type: 'string' }, true],
    [
      'properties describe fields',
      { paramType: OBJECT, properties: { a: { type: 'string' } } },
      { type: 'object', properties: { a: { type: 'string' } } },
      true,
    ],
    ['requiredProperties have to be there', { paramType: OBJECT, requiredProperties: ['a'] }, { type: 'object', required: ['a'] }, true],
    ['additionalProperties may be refused', { paramType: OBJECT, additionalProperties: false }, { type: 'object', additionalProperties: false }, true],
    [
      'additionalProperties may be described',
      { paramType: OBJECT, additionalProperties: { type: 'number' } },
      { type: 'object', additionalProperties: { type: 'number' } },
      true,
    ],
  ];

  test.each(rows)('%s', (_, fields, schema, required) => {
    expect(schemaOf([{ name: 'x', ...fields }])).toEqual({ type: 'object', properties: { x: schema }, ...(required && { required: ['x'] }) });
  });
});

describe('the types of parameters', () => {
  const compile = createCompiler();
  const rows: [type: keyof typeof ToolParamType, schema: string, good: Json, bad: Json, problem: string][] = [
    ['STRING', 'string', 'a', 1, '/x: expected string, got number'],
    ['INTEGER', 'integer', 1, 1.5, '/x: expected integer, got number'],
    ['NUMBER', 'number', 1.5, '1.5', '/x: expected number, got string'],
    ['FLOAT', 'number', 1, true, '/x: expected number, got boolean'],
    ['BOOLEAN', 'boolean', false, 'no', '/x: expected boolean, got string'],
    ['ARRAY', 'array', [1], {}, '/x: expected array, got object'],
    ['OBJECT', 'object', { a: 1 }, [], '/x: expected object, got array'],
  ];

  test.each(rows)('%s is the JSON Schema type %s', (type, expected, good, bad, problem) => {
    const schema = schemaOf([{ name: 'x', paramType: ToolParamType[type] }]);
    expect(schema).toMatchObject({ properties: { x: { type: expected } } });
    const problemsOf = compile('p', 'a', 'parameters', schema);
    expect([problemsOf({ x: good }), problemsOf({ x: bad })]).toEqual([[], [problem]]);
  });
});
