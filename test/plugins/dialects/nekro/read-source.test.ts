import { parseSource } from '../../../../src/plugins/dialects/nekro/reader/parse-source.ts';
import type { SourceLanguage } from '../../../../src/plugins/dialects/shared/plugin-dialect.ts';
import { keepComments } from '../../../../src/plugins/dialects/nekro/reader/keep-comments.ts';
import { readMounted } from '../../../../src/plugins/dialects/nekro/reader/read-method.ts';
import { schemaOfWrittenType } from '../../../../src/plugins/dialects/nekro/reader/written-type.ts';

const MOUNT = "plugin.mountSandboxMethod('tool', 'shown')";

/** What is read of the methods that a source mounts. */
function read(text: string, language: SourceLanguage = 'ts') {
  const source = parseSource(text, language);
  return source.mounts.map((mount) => readMounted(source, mount, mount.arguments[0]!));
}

/** The same in short: name, comment, and each parameter as `name: schema`, with `?` where it may be missing. */
function short(text: string, language?: SourceLanguage) {
  return read(text, language).map((found) => {
    const [, ...parameters] = found?.parameters ?? [];
    return found && [found.name, found.doc, ...parameters.map(({ name, optional, schema }) => `${name}${optional ? '?' : ''}: ${JSON.stringify(schema)}`)];
  });
}

const ADD = ['add', 'Adds.', 'a: {"type":"number"}'];
const FN = 'async function add(ctx, a: number) {}';

describe('where a comment may stand', () => {
  test.each([
    ['before the call', `/** Adds. */\n${MOUNT}(${FN});`],
    ['before the function', `${MOUNT}(/** Adds. */ ${FN});`],
    ['at the top of the body', `${MOUNT}(async function add(ctx, a: number) { /** Adds. */ return a; });`],
    [
      'at the top of a body whose function has a type with braces',
      `${MOUNT}(async function add(ctx, a: number): Promise<{ b: number }> { /** Adds. */ return { b: a }; });`,
    ],
    ['before the statement whose first part the call is', `/** Adds. */\nexport const method = ${MOUNT}(${FN});`],
    ['before an await', `/** Adds. */\nawait ${MOUNT}(${FN});`],
    ['before a comment that is for programmers', `/** Adds. */\n// eslint-disable-next-line\n/* so it is */\n${MOUNT}(${FN});`],
    ['before a declaration', `/** Adds. */\n${FN}\n${MOUNT}(add);`],
    ['before a declaration that follows its call', `${MOUNT}(add);\n/** Adds. */\n${FN}`],
    ['before an export', `/** Adds. */\nexport ${FN}\n${MOUNT}(add);`],
    ['between export and function', `export /** Adds. */ ${FN}\n${MOUNT}(add);`],
    ['before a default export', `/** Adds. */\nexport default ${FN}\n${MOUNT}(add);`],
    [
      'before the first of several signatures',
      `/** Adds. */\nasync function add(ctx, a: string): Promise<void>;\nasync function add(ctx, a: 1): Promise<void>;\n${FN}\n${MOUNT}(add);`,
    ],
    ['before the call, for a function that has none', `${FN}\n/** Adds. */\n${MOUNT}(add);`],
    ['before an element of a list', `export const all = [\n  /** Other. */\n  other(),\n  /** Adds. */\n  ${MOUNT}(${FN}),\n];`],
    ['before a property', `export const all = {\n  /** Other. */\n  other,\n  /** Adds. */\n  add: ${MOUNT}(${FN}),\n};`],
  ])('%s', (_, source) => {
    expect(short(source)).toEqual([ADD]);
  });

  test.each([
    ['of another statement', `/** Other. */\nconst other = 1;\n${MOUNT}(${FN});`],
    ['of another element', `export const all = [/** Other. */ other, ${MOUNT}(${FN})];`],
    ['of another declarator', `/** Other. */\nconst other = 1, method = ${MOUNT}(${FN});`],
    ['of a function within the body', `${MOUNT}(async function add(ctx, a: number) { /** Other. */ function other() {} });`],
    ['in a text', `const text = '/** Other. */';\n${MOUNT}(${FN});`],
    ['in a template', `const text = \`/** Other. */\`\n;${MOUNT}(${FN});`],
    ['in a regular expression', `const pattern = /\\/** Other. *\\//\n;${MOUNT}(${FN});`],
    ['for programmers', `/* Other. */\n// Other.\n/**/\n${MOUNT}(${FN});`],
  ])('and none is taken that is one %s', (_, source) => {
    expect(short(source)).toEqual([['add', undefined, 'a: {"type":"number"}']]);
  });

  test('a call in a text, a template or a comment mounts nothing', () => {
    const text = `const a = "${MOUNT.replaceAll("'", '')}(add)";\nconst b = \`/** B. */ ${MOUNT}(add)\`;\n// ${MOUNT}(add)\n/** ${MOUNT}(add) */\n`;
    expect(read(text)).toEqual([]);
    expect(keepComments(text, 'ts')).toBe(text);
  });
});

describe('forms of functions', () => {
  test.each([
    ['an arrow function in a constant', `/** Adds. */\nconst add = async (ctx, a: number) => a;\n${MOUNT}(add);`],
    [
      'an arrow function with a body',
      `/** Adds. */\nexport const add = async (ctx: Ctx, a: number): Promise<{ n: number }> => { return { n: a }; };\n${MOUNT}(add);`,
    ],
    ['an arrow function with its comment in the body', `const add = async (ctx, a: number) => { /** Adds. */ return a; };\n${MOUNT}(add);`],
    ['a function in a constant', `/** Adds. */\nconst add = async function (ctx, a: number) {};\n${MOUNT}(add);`],
    ['a generic function', `/** Adds. */\nasync function add<T extends Map<string, (a: number) => void>>(ctx: Ctx<T>, a: number) {}\n${MOUNT}(add);`],
    ['a generic arrow function', `/** Adds. */\nconst add = async <T,>(ctx: Ctx<T>, a: number) => {};\n${MOUNT}<T>(add);`],
    ['a method of an object', `const methods = {\n  /** Adds. */\n  async add(ctx, a: number) {},\n};\n${MOUNT}(methods.add);`],
    ['a property of an object', `const methods = {\n  other: 1,\n  /** Adds. */\n  add: async (ctx, a: number) => {},\n};\n${MOUNT}(methods['add']);`],
    ['a static method', `class Sums {\n  /** Adds. */\n  static async add(ctx, a: number) {}\n}\n${MOUNT}(Sums.add);`],
    [
      'a method of an instance',
      `class Sums {\n  other = { '}': 1 };\n  /** Adds. */\n  async add(ctx, a: number) {}\n}\nconst sums = new Sums();\n${MOUNT}(sums.add);`,
    ],
    ['a field of a class', `class Sums {\n  /** Adds. */\n  readonly add = async (ctx, a: number) => {};\n  constructor() { ${MOUNT}(this.add); }\n}`],
    [
      'a method of a class that is the default export',
      `export default class Sums {\n  /** Adds. */\n  static async add(ctx, a: number) {}\n}\n${MOUNT}(Sums.add);`,
    ],
    ['a method with a decorator', `class Sums {\n  /** Adds. */\n  @logged({ at: '}' })\n  async add(ctx, a: number) {}\n}\n${MOUNT}(new Sums().add);`],
    [
      'a method whose comment is behind its decorator',
      `class Sums {\n  @logged(/** Other. */ 1)\n  /** Adds. */\n  public override async add(ctx, a: number) {}\n}\n${MOUNT}(new Sums().add);`,
    ],
    [
      'a method with several signatures',
      `class Sums {\n  /** Adds. */\n  async add(ctx, a: string): Promise<void>;\n  async add(ctx, a: number) {}\n}\n${MOUNT}(new Sums().add);`,
    ],
    ['a bound method', `class Sums {\n  /** Adds. */\n  async add(ctx, a: number) {}\n}\nconst sums = new Sums();\n${MOUNT}(sums.add.bind(sums));`],
    ['a function with a type beside it', `${MOUNT}(/** Adds. */ (${FN}) satisfies Method as Method);`],
    ['a function whose type has a parameter for this', `/** Adds. */\nasync function add(this: void, ctx, a: number) {}\n${MOUNT}(add);`],
    [
      'a function that is declared nearer than another',
      `/** Other. */\nasync function add(ctx, b: string) {}\nfunction init() {\n  /** Adds. */\n  ${FN}\n  ${MOUNT}(add);\n}`,
    ],
    ['a name for another name', `/** Adds. */\n${FN}\nconst again = add;\n${MOUNT}(again);`],
  ])('%s', (_, source) => {
    expect(short(source)).toEqual([ADD]);
  });

  test.each([
    ['is imported', `import { add } from './add.ts';\n${MOUNT}(add);`],
    ['is a parameter', `/** Other. */\n${FN}\nfunction mount(add) { ${MOUNT}(add); }`],
    ['may change', `let add = async (ctx) => {};\nadd = other;\n${MOUNT}(add);`],
    ['comes from a call', `${MOUNT}(makeMethod());`],
    ['may come from another object', `const methods = { async add(ctx) {}, ...others };\n${MOUNT}(methods.add);`],
    ['names itself', `const add = again, again = add;\n${MOUNT}(add);`],
  ])('one that %s is not known', (_, source) => {
    expect(read(source)).toEqual([undefined]);
    expect(keepComments(source, 'ts')).toBe(source);
  });
});

describe('parameters', () => {
  const parametersOf = (parameters: string, comment = '', before = '') =>
    short(`${before}\n${MOUNT}(${comment}async function add(ctx${parameters === '' ? '' : ', '}${parameters}) {});`)[0]?.slice(2);

  test.each<[written: string, expected: string]>([
    ["a = ')'", 'a?: {"default":")"}'],
    ["a: string = '/* no comment */, b'", 'a?: {"type":"string","default":"/* no comment */, b"}'],
    ["a = { b: [1, -2], 'c': { d: '}' } }", 'a?: {"default":{"b":[1,-2],"c":{"d":"}"}}}'],
    ['a = [now()]', 'a?: {}'],
    ['a = `x`', 'a?: {"default":"x"}'],
    ["a = /[)']/", 'a?: {}'],
    ['a = (b: number) => b > 1', 'a?: {}'],
    ['a: Map<string, Array<number>>', 'a: {}'],
    ['a: Array<string | number>', 'a: {"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}'],
    ["a: (\n  | 'x' // the first\n  | 'y|z'\n)[]", 'a: {"type":"array","items":{"enum":["x","y|z"]}}'],
    ["a:\n  | 'x'\n  | 'y'\n  | null", 'a: {"anyOf":[{"enum":["x","y"]},{"type":"null"}]}'],
    ["a: number | 'auto'", 'a: {"anyOf":[{"type":"number"},{"enum":["auto"]}]}'],
    ['a: 1 | -2', 'a: {"enum":[1,-2]}'],
    ['a: string | undefined', 'a: {"type":"string"}'],
    ['a: unknown | null', 'a: {}'],
    ['a?: { b: string; c: (d: number) => void }', 'a?: {"type":"object"}'],
    ['a: readonly string[]', 'a: {"type":"array","items":{"type":"string"}}'],
    ['a: [number, string]', 'a: {"type":"array"}'],
    ['a: (b: number, c: string) => void', 'a: {}'],
    ['a: number /* = 5 */ = 6 // , b', 'a?: {"type":"number","default":6}'],
    ['a: boolean = true, b: number', 'a?: {"type":"boolean","default":true}'],
  ])('%s', (written, expected) => {
    expect(parametersOf(`${written}\n`)?.[0]).toBe(expected);
  });

  test('types may be declared in the same file, and endless ones accept any value', () => {
    const before = `type Mode = 'fast' | Slow; type Slow = 'slow'; interface Place { x: number } type Deep = Deep[]; enum Kind { One }`;
    expect(parametersOf('a: Mode, b: Place, c: Deep, d: Kind', '', before)).toEqual(['a: {"enum":["fast","slow"]}', 'b: {"type":"object"}', 'c: {}', 'd: {}']);
    const wide = Array.from({ length: 60 }, (_, index) => `type T${index} = T${index + 1} | T${index + 1}[];`).join('');
    expect(parametersOf('a: T0', '', wide)).toEqual(['a: {}']);
  });

  test('what is no plain name has no name, and is told as it is written', () => {
    const [found] = read(`${MOUNT}(async function add(ctx, { to }: { to: string }, [b] = [1], ...rest: string[]) {});`);
    expect(found?.parameters.map(({ name, written }) => [name, written])).toEqual([
      ['ctx', 'ctx'],
      ['', '{ to }: { to: string }'],
      ['', '[b] = [1]'],
      ['', '...rest: string[]'],
    ]);
  });

  test('a default that would set a prototype is not told', () => {
    expect(parametersOf("a = { '__proto__': { b: 1 } }")).toEqual(['a?: {}']);
  });

  test('tags of JSDoc may have links, braces, types with commas, defaults and names of parts', () => {
    const comment = `/**
 * Adds {@link https://example.org/a_(b)}.
 * @param {Array<{ b: string, c: { d: number } }>} a The {@link Sums} of
 *   all: many.
 * @param {string} a.b A part.
 * @param {(string|null)} [b='}'] - What @param means.
 * @arg {Record<string, number>} c
 * @param {"x y"|'z'} d One.
 * @returns {number} The sum.
 */ `;
    expect(parametersOf('a, b, c, d', comment)).toEqual([
      'a: {"type":"array","items":{"type":"object"},"description":"The {@link Sums} of all: many."}',
      'b: {"anyOf":[{"type":"string"},{"type":"null"}],"description":"What @param means."}',
      'c: {"type":"object"}',
      'd: {"enum":["x y","z"],"description":"One."}',
    ]);
    expect(read(`${MOUNT}(${comment}async function add(ctx) {});`)[0]?.doc).toMatch(
      /^Adds \{@link https:\/\/example\.org\/a_\(b\)\}\.\n@param \{Array<\{ b[^]*The sum\.$/,
    );
  });

  test('the type of a comment that is not known gives way to that of TypeScript', () => {
    expect(parametersOf('a: number, b: number', '/** Args:\n *  a (Tide): X.\n *  b (int): Y.\n */')).toEqual([
      'a: {"type":"number","description":"X."}',
      'b: {"type":"integer","description":"Y."}',
    ]);
  });
});

describe('the form of a file', () => {
  const source = `/** Adds.\n * @param {int} a How\n *   many. */\n${MOUNT}(\n  ${FN},\n);\n`;
  const expected = [['add', 'Adds.\n@param {int} a How\n  many.', 'a: {"type":"integer","description":"How many."}']];

  test.each([
    ['line breaks of Windows', source.replaceAll('\n', '\r\n')],
    ['line breaks of old Macs', source.replaceAll('\n', '\r')],
    ['a byte order mark', `\uFEFF${source}`],
    ['a hashbang', `#!/usr/bin/env node\n${source}`],
    ['a byte order mark and a hashbang', `\uFEFF#!/usr/bin/env node\n${source}`],
    [
      'decorators, namespaces, enums and imports of types',
      `import type { A } from 'a';\nimport b = require('b');\nnamespace N { export const a = 1 }\ndeclare const enum E { A }\n@c export class D { accessor e = 1; constructor(@f private g: string) {} }\n${source}`,
    ],
    ['what a compiler reports and a bundler does not', `const a = 1;\nconst a = 2;\n${source}`],
  ])('may have %s', (_, text) => {
    expect(short(text)).toEqual(expected);
  });

  test.each<[SourceLanguage, string]>([
    ['js', `/** Adds.\n * @param {int} a How many. */\n${MOUNT}(async function add(ctx, a = <b>{'c'}</b>) {});`],
    ['jsx', `/** Adds.\n * @param {int} a How many. */\n${MOUNT}(async function add(ctx, a = <b>{'c'}</b>) {});`],
    ['tsx', `/** Adds.\n * @param {int} a How many. */\n${MOUNT}(async function add(ctx, a: number = <b>{'c'}</b>) {});`],
  ])('may be %s', (language, text) => {
    expect(short(text, language)[0]?.slice(2)).toEqual(['a?: {"type":"integer","description":"How many."}']);
  });
});

describe('what is written into the source', () => {
  const told = (doc?: string) =>
    JSON.stringify({ name: 'add', ...(doc !== undefined && { doc }), parameters: [{ written: 'ctx', name: 'ctx', optional: false, schema: {} }] });
  const method = 'async function add(ctx) {}';

  test.each([
    ['a call', `${MOUNT}(${method});`, `${MOUNT}(${method}, ${told()});`],
    ['a call with a comma', `${MOUNT}(\n  ${method}, // last\n);`, `${MOUNT}(\n  ${method}, // last\n ${told()});`],
    ['a call with a comma in a comment', `${MOUNT}(${method} /* , */);`, `${MOUNT}(${method} /* , */, ${told()});`],
    ['a call with brackets', `${MOUNT}((${method}));`, `${MOUNT}((${method}), ${told()});`],
    ['a text beside the function', `${MOUNT}(${method}, 'Adds.');`, `${MOUNT}(${method}, ${told('Adds.')});`],
    [
      'calls within calls',
      `${MOUNT}(${method}, \`Adds.\`);${MOUNT}(add)\n${method}`,
      `${MOUNT}(${method}, ${told('Adds.')});${MOUNT}(add, ${told()})\n${method}`,
    ],
    ['a text that is computed', `${MOUNT}(${method}, text());`, `${MOUNT}(${method}, text());`],
    ['no function', `${MOUNT}();`, `${MOUNT}();`],
    ['a syntax error, which the bundler reports', `${MOUNT}(${method}`, `${MOUNT}(${method}`],
  ])('after %s', (_, before, after) => {
    expect(keepComments(before, 'ts')).toBe(after);
  });
});

test.each<[string, object]>([
  ['int', { type: 'integer' }],
  ['List[Dict[str, int]]', { type: 'array', items: { type: 'object' } }],
  ['list', { type: 'array' }],
  ['Union[int, str]', { anyOf: [{ type: 'integer' }, { type: 'string' }] }],
  ['Literal["a, b", 1]', { enum: ['a, b', 1] }],
  ['Array<string|number>', { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }],
  ["('a'|'b')[]", { type: 'array', items: { enum: ['a', 'b'] } }],
  ['?string', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  ['str | None', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  ['{a: string}', { type: 'object' }],
  ['List[int', {}],
  ['constructor', {}],
  ['', {}],
])('the type %s of a comment', (written, schema) => {
  expect(schemaOfWrittenType(written)).toEqual({ schema, optional: false });
});

test.each(['int, optional', 'Optional[int]', 'int='])('the type %s of a comment is one of a parameter that may be missing', (written) => {
  expect(schemaOfWrittenType(written).optional).toBe(true);
});
