import { nearest } from '../../../../src/common/nearest.ts';
import { parametersOfText } from '../../../../src/plugins/dialects/nekro/parameters-of-text.ts';
import { readDocComment } from '../../../../src/plugins/dialects/nekro/reader/doc-comment.ts';
import { keepComments } from '../../../../src/plugins/dialects/nekro/reader/keep-comments.ts';
import { schemaOfWrittenType } from '../../../../src/plugins/dialects/nekro/reader/written-type.ts';
import { cleanOutput } from '../../../../src/sandbox/output/clean-output.ts';
import { cpuMs } from '../../../support/cpu-time.ts';

const spaces = ' '.repeat(100_000);
const keep = (source: string) => keepComments(source, 'ts');

test.each<[string, () => unknown]>([
  ['a long word', () => keep('a.'.repeat(50_000))],
  ['spaces in a mounted function', () => keep(`p.mountSandboxMethod(1)(function${spaces}x${spaces}!)`)],
  ['spaces behind a reference', () => keep(`p.mountSandboxMethod(1)(name${spaces}x)`)],
  ['spaces behind a function that is referred to', () => keep(`function${spaces}other; p.mountSandboxMethod(1)(name)`)],
  ['comments without an end', () => keep(`p.mountSandboxMethod(${'/*'.repeat(100_000)}`)],
  ['quotes without an end', () => keep(`p.mountSandboxMethod(a)("x);`.repeat(40_000))],
  ['references', () => keep('p.mountSandboxMethod(a)(x);'.repeat(10_000))],
  ['comments behind functions', () => keep('p.mountSandboxMethod(a)(f /* , */);\n'.repeat(5_000) + 'async function f(ctx) {}')],
  ['methods with comments', () => keep('/** A. */p.mountSandboxMethod(a)(async function f(ctx){});\n'.repeat(2_000))],
  ['spaces in a doc comment', () => readDocComment(`/** Args:\n a${spaces}b\n*/`)],
  ['a tag with a strange line break', () => readDocComment(`/** @param ${'a'.repeat(100_000)}\u2028 */`)],
  ['many headings', () => readDocComment(`/**\n${'Args:\n'.repeat(20_000)}*/`)],
  ['a deep type', () => schemaOfWrittenType('Optional['.repeat(50_000) + ']'.repeat(50_000))],
  ['a type that is as deep as may be', () => schemaOfWrittenType('('.repeat(1_000))],
  ['spaces in a parameter', () => parametersOfText(`async function m(ctx, a${spaces}=${spaces}1){}`)],
  ['comments in parameters', () => parametersOfText(`async function m(ctx, a ${'/* '.repeat(100_000)}){}`)],
  ['templates in parameters', () => parametersOfText(`async function m(ctx, a = ${'`${'.repeat(100_000)}){}`)],
  ['expressions in parameters', () => parametersOfText(`async function m(ctx, a = ${'/['.repeat(2_000)}){}`)],
  ['a line that is written over again and again', () => cleanOutput('x'.repeat(200_000) + '\rab'.repeat(100_000))],
  ['a name that is far too long', () => nearest('x'.repeat(100_000), ['template', 'y'.repeat(50_000)])],
])('what others have written takes the worker no more than its length: %s', (_, work) => {
  const since = cpuMs();
  work();
  expect(cpuMs() - since).toBeLessThan(5_000);
});

test.each([
  ['brackets', '('.repeat(100_000) + '1' + ')'.repeat(100_000)],
  ['calls', 'x.mountSandboxMethod('.repeat(20_000) + ')()'.repeat(20_000)],
  ['mounted functions', 'x.mountSandboxMethod()('.repeat(20_000) + ')'.repeat(20_000)],
  ['templates', '`${'.repeat(100_000) + '}`'.repeat(100_000)],
  ['types', `let a: ${'Array<'.repeat(100_000)}`],
])('%s that are nested too deeply are refused', (_, source) => {
  expect(() => keep(source)).toThrow('is nested so deeply that its methods cannot be read');
});

test('methods whose comment is written again and again are refused', () => {
  const source = `/** ${'long '.repeat(10_000)} */ async function f(ctx) {}\n${'p.mountSandboxMethod(a)(f);'.repeat(1_000)}`;
  expect(() => keep(source)).toThrow('mounts so many methods that they cannot be read');
});

test.each<[text: string, parameters: string[]]>([
  ['async function m(ctx,a,b="c",d=2,$e=null){}', ['ctx', 'a', 'b="c"', 'd=2', '$e=null']],
  ["async function m(ctx,a=')',b=',',c='it\\'s'){}", ['ctx', 'a=")"', 'b=","', 'c']],
  ['async function m(ctx,a={b:[1,{c:"}"}]},d=(e,f)=>e,g){}', ['ctx', 'a', 'd', 'g']],
  ['async function m(ctx,a=/[)/,]\\/,/g,b=1/2,c){}', ['ctx', 'a', 'b', 'c']],
  ['async function m(ctx,a=`,${[`)`,"}"].join(",")},`,b){}', ['ctx', 'a', 'b']],
  ['async function m(/* a, */ctx,// b)\nc){}', ['ctx', 'c']],
  ['async m(ctx,a){}', ['ctx', 'a']],
  ['async[`a(`+"b("](ctx,a){}', ['ctx', 'a']],
  ['async(ctx,a)=>({b:1})', ['ctx', 'a']],
  ['async ctx=>1', ['ctx']],
  ['async function(){}', []],
])('the parameters of a function that the bundler does not know: %s', (text, expected) => {
  const found = parametersOfText(text).map(({ name, schema }) => name + ('default' in schema ? `=${JSON.stringify(schema['default'])}` : ''));
  expect(found).toEqual(expected);
});

test('what is no plain name has no name', () => {
  expect(parametersOfText('async function m(ctx,{a},[b]=[1],...c){}').map(({ name, written }) => [name, written])).toEqual([
    ['ctx', 'ctx'],
    ['', '{a}'],
    ['', '[b]=[1]'],
    ['', '...c'],
  ]);
});
