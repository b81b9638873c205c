import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Json, JsonObject } from '../../../src/contracts/json.ts';
import { createValidators } from '../../../src/plugins/schemas/validators.ts';
import { createCompiler } from '../../../src/plugins/schemas/validate-arguments.ts';

// Short, so that a test of endless work ends soon.
const compile = createCompiler({ validators: createValidators({ checkMs: 700, compileMs: 5_000 }) });
/** On a busy machine the process itself waits for a processor; an attack that reached the event loop would hold it for minutes. */
const BLOCKED_AT_MOST_MS = 10_000;
let plugins = 0;

function checkOf(schema: JsonObject) {
  return compile(`hostile-${(plugins += 1)}`, 'tool', 'parameters', schema);
}

/** Longest time for which the event loop did nothing else while the work went on. */
async function blockedFor(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.reset();
  await work();
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.disable();
  return delay.max / 1e6;
}

/** Each level is evaluated twice by the one above it. */
function fanOut(levels: number, of = 'allOf'): JsonObject {
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, level) => [`l${level}`, { [of]: [1, 2].map(() => ({ $ref: `#/$defs/l${level + 1}` })) }] as const),
  );
  return { $defs: { ...$defs, [`l${levels}`]: { type: of === 'allOf' ? 'string' : 'number' } }, $ref: '#/$defs/l0' };
}

const many = Array.from({ length: 60_000 }, (_, index) => ({ id: index }));
const recursive: JsonObject = { $defs: { node: { anyOf: [1, 2, 3].map(() => ({ properties: { next: { $ref: '#/$defs/node' }, end: false } })) } }, $ref: '#/$defs/node' };
const deep = JSON.parse(`${'{"next":'.repeat(60)}{"end":1}${'}'.repeat(60)}`) as Json;

const ATTACKS: [name: string, schema: JsonObject, value: Json][] = [
  ['a pattern', { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } }, { x: `${'a'.repeat(40)}!` }],
  ['a pattern without a quantifier', { pattern: `^${'(a|a)'.repeat(38)}$` }, `${'a'.repeat(38)}!`],
  ['a pattern of a property name', { patternProperties: { '^(a|a)*$': {} } }, { [`${'a'.repeat(40)}!`]: 1 }],
  ['a polynomial pattern', { pattern: 'a*a*a*a*a*a*b' }, 'a'.repeat(5_000)],
  ['a pattern in an exactly evaluated schema', { unevaluatedProperties: { pattern: '^(a+)+$' } }, { x: `${'a'.repeat(40)}!` }],
  ['references that fan out', fanOut(40, 'oneOf'), 'x'],
  ['a recursion with a choice', recursive, deep],
  ['unique items', { uniqueItems: true }, many],
  ['an enumeration at each item', { items: { enum: many.slice(0, 4_000) } }, many],
];

test.each(ATTACKS)('%s takes a thread its time, not the event loop', async (_, schema, value) => {
  const check = checkOf(schema);
  let problems: string[] = [];
  const blocked = await blockedFor(async () => (problems = await check(value)));
  expect(problems[0]).toMatch(/^\/: cannot be checked: .* needs more than (700 ms|256 MB of memory) for this value\. Give a smaller value, or simplify the schema$|expected one of/);
  expect(blocked).toBeLessThan(BLOCKED_AT_MOST_MS);
});

test('a check that takes too long names the pattern, and where the schema has it', async () => {
  const check = checkOf({ type: 'object', properties: { x: { pattern: '^(a+)+/$' } } });
  expect(await check({ x: 'aa/' })).toEqual([]);
  expect(await check({ x: 'b' })).toEqual(['/x: must match pattern "^(a+)+/$", got "b"']);
  expect(await check({ x: `${'a'.repeat(40)}!` })).toEqual([
    '/: cannot be checked: the pattern "^(a+)+\\\\/$" of its schema (at /properties/x/pattern) needs more than 700 ms for this value. Give a smaller value, or simplify the schema',
  ]);
});

test('another plugin is answered while one plugin uses all the time that it can get', async () => {
  const [hostile, other] = [checkOf({ pattern: '^(a+)+$' }), checkOf({ pattern: '^(b+)+$' })];
  const state = { answered: 0, ended: 0 };
  const attack = async (index: number) => {
    for (; state.answered < 20; state.ended += 1) await hostile(`${'a'.repeat(40 + index)}!`);
  };
  const attacks = Promise.all(Array.from({ length: 5 }, (_, index) => attack(index)));
  for (; state.answered < 20; state.answered += 1) expect(await other('bbb')).toEqual([]);
  // If a call had to wait for an attack, at least as many attacks would have ended.
  expect(state.ended).toBeLessThan(20);
  await attacks;
});

test('plugins whose checks take long take turns, however many checks one of them has waiting', async () => {
  const [greedy, modest] = [checkOf({ pattern: '^(a+)+$' }), checkOf({ pattern: '^(b+)+$' })];
  await Promise.all([greedy(`${'a'.repeat(40)}!`), modest(`${'b'.repeat(40)}!`)]);
  const order: string[] = [];
  const each = async (name: string, done: string[] | Promise<string[]>) => {
    await done;
    order.push(name);
  };
  const attacks = Array.from({ length: 4 }, (_, index) => each('greedy', greedy(`${'a'.repeat(40 + index)}!`)));
  await Promise.all([...attacks, each('modest', modest('bbb'))]);
  expect(order).toEqual(['greedy', 'modest', 'greedy', 'greedy', 'greedy']);
});

test('a check that needs too much memory is ended, and the process is not', async () => {
  const check = checkOf({ items: { allOf: Array.from({ length: 200 }, (_, index) => ({ const: index })) } });
  const [problem] = await check(Array.from({ length: 100_000 }, () => 'x'));
  expect(problem).toMatch(/its schema needs more than (256 MB of memory|700 ms) for this value/);
});

test.each<[string, JsonObject, RegExp]>([
  ['too deep', JSON.parse(`${'{"not":'.repeat(300)}{}${'}'.repeat(300)}`) as JsonObject, /not a valid JSON Schema \(it is nested deeper than 200 levels\)/],
  ['too large', { enum: Array.from({ length: 1_100_000 }, (_, index) => index) }, /\(it has more than 1048576 characters\)/],
])('a schema that is %s is refused at once', (_, schema, message) => {
  expect(() => checkOf(schema)).toThrow(message);
});

test('a large schema is compiled in the thread, and refused there when it is wrong', async () => {
  const unhurried = createCompiler({ validators: createValidators({ checkMs: 20_000, compileMs: 20_000 }) });
  const patient = (schema: JsonObject) => unhurried(`hostile-${(plugins += 1)}`, 'tool', 'parameters', schema);
  const properties = Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`p${index}`, { type: 'string' }]));
  const check = patient({ type: 'object', properties });
  expect(await blockedFor(() => check.compiled())).toBeLessThan(BLOCKED_AT_MOST_MS);
  expect(await check({ p1: 1 })).toEqual(['/p1: expected string, got number']);
  await expect(patient({ type: 'object', properties: { ...properties, wrong: { type: 'text' } } }).compiled()).rejects.toThrow(
    /^Plugin "hostile-\d+": the parameters of tool "tool" are not a valid JSON Schema \(schema is invalid: data\/properties\/wrong\/type must be equal to one of the allowed values/,
  );
});

test('many schemas at once leave the event loop time for others', async () => {
  const schemas = Array.from({ length: 300 }, (_, tool) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`p${tool}_${index}`, { type: 'string', minLength: index }])),
  }));
  const checks = schemas.map((schema) => compile('many', 'tool', 'parameters', schema));
  expect(await Promise.all(checks.slice(0, 150).map(async (check, tool) => check({ [`p${tool}_5`]: 1 })))).toEqual(
    Array.from({ length: 150 }, (_, tool) => [`/p${tool}_5: expected string, got number`]),
  );
});

test.each([
  ['groups in groups', '(a'.repeat(20_000) + ')'.repeat(20_000)],
  ['many choices', 'a|'.repeat(300_000)],
  ['many classes', String.raw`\p{L}`.repeat(100_000)],
])('a pattern that V8 would end the process for, or compile without end, is refused: %s', (_, pattern) => {
  const refusal = new RegExp(`its pattern "[^"]{40}…" has ${pattern.length} characters, and may have 10000`);
  for (const schema of [{ pattern }, { patternProperties: { [pattern]: {} } }, { $defs: { a: { items: { pattern } } } }, { unevaluatedItems: { pattern } }]) {
    expect(() => checkOf(schema)).toThrow(expect.objectContaining({ code: 'PLUGIN_INVALID', message: expect.stringMatching(refusal) }));
  }
});

test('groups in groups as deep as a pattern may have them are compiled', async () => {
  const check = checkOf({ pattern: `^${'(a'.repeat(3_300)}${')'.repeat(3_300)}$` });
  expect(await check('a'.repeat(3_300))).toEqual([]);
  expect(await check('a')).toHaveLength(1);
});
