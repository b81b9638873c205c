import { nearest } from '../../../../src/common/nearest.ts';
import { readDocComment, schemaOfType } from '../../../../src/plugins/dialects/nekro/doc-comment.ts';
import { keepComments } from '../../../../src/plugins/dialects/nekro/keep-comments.ts';
import { readSignature } from '../../../../src/plugins/dialects/nekro/signature.ts';
import { cleanOutput } from '../../../../src/sandbox/output/clean-output.ts';

const spaces = ' '.repeat(100_000);
const doc = readDocComment('');

test.each<[string, () => unknown]>([
  ['a long word', () => keepComments('a.'.repeat(200_000))],
  ['spaces in a mounted function', () => keepComments(`p.mountSandboxMethod(1)(function${spaces}x${spaces}!)`)],
  ['spaces behind a reference', () => keepComments(`p.mountSandboxMethod(1)(name${spaces}x)`)],
  ['spaces behind a function that is referred to', () => keepComments(`function${spaces}other; p.mountSandboxMethod(1)(name)`)],
  ['comments without an end', () => keepComments(`p.mountSandboxMethod(${'/*'.repeat(100_000)}`)],
  ['quotes without an end', () => keepComments(`p.mountSandboxMethod(a)("x);`.repeat(40_000))],
  ['calls without an end', () => keepComments('p.mountSandboxMethod('.repeat(20_000))],
  ...(
    [
      ['calls within calls', 'x.mountSandboxMethod('.repeat(20_000) + ')()'.repeat(20_000)],
      ['calls within mounted functions', 'x.mountSandboxMethod()('.repeat(20_000) + ')'.repeat(20_000)],
      ['references', 'p.mountSandboxMethod(a)(x);'.repeat(40_000)],
      ['ends of comments', '*/p.mountSandboxMethod(a)(async function f(ctx){});'.repeat(40_000)],
    ] as [string, string][]
  ).map(([name, source]): [string, () => unknown] => [
    `${name} that mount methods`,
    () => expect(() => keepComments(source)).toThrow('put some of them into other files'),
  ]),
  ['spaces in a doc comment', () => readDocComment(`/** Args:\n a${spaces}b\n*/`)],
  ['a tag with a strange line break', () => readDocComment(`/** @param ${'a'.repeat(100_000)}\u2028 */`)],
  ['many headings', () => readDocComment(`/**\n${'Args:\n'.repeat(20_000)}*/`)],
  ['a deep type', () => schemaOfType('Optional['.repeat(50_000) + ']'.repeat(50_000))],
  ['spaces in a parameter', () => readSignature('m', `ctx, a:${spaces}int${spaces}= 1`, doc)],
  ['comments in parameters', () => readSignature('m', `ctx, a ${'/* '.repeat(100_000)}`, doc)],
  ['a line that is written over again and again', () => cleanOutput('x'.repeat(200_000) + '\rab'.repeat(100_000))],
  ['a name that is far too long', () => nearest('x'.repeat(100_000), ['template', 'y'.repeat(50_000)])],
])('what others have written takes the worker no more than its length: %s', (_, work) => {
  const since = performance.now();
  work();
  expect(performance.now() - since).toBeLessThan(5_000);
});

test('parameters are split as they were', () => {
  const { names, parameters } = readSignature('m', 'ctx, a: number, b?: string, c = 1, d: int = 2, e', doc);
  expect(names).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(parameters['required']).toEqual(['a', 'e']);
  expect(() => readSignature('m', 'ctx, { a }', doc)).toThrow('has the parameter { a }; only plain names can be called from Python');
});
