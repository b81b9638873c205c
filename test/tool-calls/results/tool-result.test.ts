import { resultContentOf, shorten, resultTextOf, toContent } from '../../../src/tool-calls/results/tool-result.ts';
import type { ContentPart } from '../../../src/contracts/transcript.ts';
import { definePlugin, type ToolDefinition } from '../../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { echoTool } from '../../plugins/tools.ts';

const text = (value: string): ContentPart => ({ type: 'text', text: value });

test.each([
  ['plain', 'plain'],
  [{ exitCode: 0 }, '{"exitCode":0}'],
  [[1, null], '[1,null]'],
  [null, 'null'],
  [{ content: 'not parts' }, '{"content":"not parts"}'],
  [{ content: [], totalElements: 0, last: true }, '{"content":[],"totalElements":0,"last":true}'],
])('a text stays, other JSON is written out: %j', (result, written) => {
  expect(toContent('a:b', result)).toEqual({ content: [text(written)], isError: false });
});

test('content parts stay as they are, with the verdict of the tool', () => {
  const content = [text('see'), { type: 'image', mediaType: 'image/png', data: 'AAAA' }];
  expect(toContent('a:b', { content })).toEqual({ content, isError: false });
  expect(toContent('a:b', { content, isError: true })).toEqual({ content, isError: true });
});

async function* inPieces() {
  yield 'a piece';
}

const circular: Record<string, unknown> = {};
circular['self'] = circular;
test.each([
  [undefined, 'nothing'],
  [() => 1, 'function that is not JSON'],
  [circular, 'object that is not JSON'],
  [new Map([['a', 1]]), 'an object of the kind Map, of which JSON keeps nothing'],
  [inPieces(), 'an object of the kind AsyncGenerator, of which JSON keeps nothing'],
  [{ content: [], isError: 'yes' }, '/isError'],
  [{ content: [text('fine'), { type: 'video' }] }, '/content/1/type "video"'],
  [{ content: [{ type: 'image', data: 'AAAA' }] }, '/content/0/mediaType'],
  [{ content: [{ type: 'file', mediaType: 'text/plain', name: 'a', data: 'x'.repeat(20_000_001) }] }, '/content/0/data of 20000001 characters'],
])('what is no result becomes an error that names the fault (%#)', (result, problem) => {
  const { content, isError } = toContent('a:b', result);
  expect(isError).toBe(true);
  expect(resultTextOf(content)).toContain(problem);
  expect(resultTextOf(content)).toContain('a:b');
});

test('long texts are cut to a common size, and the whole is kept where the model can find it', async () => {
  const kept: string[] = [];
  const image: ContentPart = { type: 'image', mediaType: 'image/png', data: 'AAAA' };
  const long = [text('a'.repeat(40_000)), image, text('b'.repeat(40_000))];
  const keep = async (whole: string) => {
    kept.push(whole);
    return '/home/user/whole.txt';
  };
  const [first, same, second] = await shorten(long, keep);
  expect(kept).toEqual([`${'a'.repeat(40_000)}\n${'b'.repeat(40_000)}`]);
  expect(same).toBe(image);
  for (const part of [first!, second!])
    expect(resultTextOf([part])).toMatch(/^[ab]{8192}\n\[… 23616 bytes left out; the whole is in \/home\/user\/whole.txt …\]\n[ab]{8192}$/);
});

test('very many texts are cut as one, which is no longer than a few', async () => {
  const image: ContentPart = { type: 'image', mediaType: 'image/png', data: 'AAAA' };
  const many = [...Array.from({ length: 50_000 }, (_, index) => text(`${index}`)), image];
  const [one, same, ...more] = await shorten(many, async () => undefined);
  expect([same, more]).toEqual([image, []]);
  expect(resultTextOf([one!])).toMatch(/^0\n1\n2\n[^]*\n\[… \d+ bytes left out; the whole was not kept …\]\n[^]*\n49999$/);
  expect(Buffer.byteLength(resultTextOf([one!]))).toBeLessThan(33_000);
});

test('what a plugin adds to parts is not kept, and names are bounded: both would be in each prompt', () => {
  const long = 'n'.repeat(100_000);
  const given = [
    { ...text('see'), extra: long },
    { type: 'image', mediaType: long, data: 'AAAA', extra: long },
    { type: 'file', mediaType: 'text/plain', name: long, data: 'AAAA' },
  ];
  const { content, isError } = toContent('a:b', { content: given });
  expect(isError).toBe(false);
  expect(content[0]).toEqual(text('see'));
  expect(Object.keys(content[1]!)).toEqual(['type', 'mediaType', 'data']);
  expect(JSON.stringify(content).length).toBeLessThan(1_000);
});

test('of very many parts, texts that follow each other are one; more images and files are none', () => {
  const image: ContentPart = { type: 'image', mediaType: 'image/png', data: 'AAAA' };
  const texts = Array.from({ length: 1_000 }, () => text('a'));
  expect(toContent('a:b', { content: [...texts, image, ...texts] })).toEqual({
    content: [text('a\n'.repeat(999) + 'a'), image, text('a\n'.repeat(999) + 'a')],
    isError: false,
  });
  expect(resultTextOf(toContent('a:b', { content: Array.from({ length: 101 }, () => image) }).content)).toContain('101 content parts; at most 100');
});

test('short texts are left alone, and nothing is kept', async () => {
  const content = [text('short')];
  expect(await shorten(content, () => Promise.reject(new Error('kept')))).toBe(content);
});

test('a whole that could not be kept is said to be lost', async () => {
  const cut = await shorten([text('a'.repeat(40_000))], async () => undefined);
  expect(resultTextOf(cut)).toContain('the whole was not kept');
});

describe('a tool says what it may return', () => {
  const toolOf = (changes: Partial<ToolDefinition<{ type: 'object' }>>) =>
    createRegistry([definePlugin({ id: 'p', tools: [echoTool('t', changes)] })]).get('p:t')!;
  const wrong = (problem: string) => ({ isError: true, content: [text(`p:t returned ${problem}. Correct the plugin.`)] });

  test.each<['agent' | 'behavior' | 'multimodal_agent', unknown, string]>([
    ['agent', { a: 1 }, 'an object; a tool of kind "agent" returns a text'],
    ['agent', { content: [text('x')] }, 'content parts; a tool of kind "agent" returns a text'],
    ['behavior', null, 'null; a tool of kind "behavior" returns a text'],
    ['behavior', 7, 'a number; a tool of kind "behavior" returns a text'],
    ['multimodal_agent', 'x', 'a text; a tool of kind "multimodal_agent" returns content parts'],
    ['multimodal_agent', [text('x')], 'a list; a tool of kind "multimodal_agent" returns content parts'],
  ])('by its kind: %s, %j', async (kind, result, problem) => {
    expect(await resultContentOf(toolOf({ kind }), result)).toEqual(wrong(problem));
  });

  test('by its schema, whose problems name their paths', async () => {
    const tool = toolOf({ resultSchema: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] } });
    expect(await resultContentOf(tool, { degrees: 3 })).toEqual({ isError: false, content: [text('{"degrees":3}')] });
    expect(await resultContentOf(tool, { degrees: 'cold' })).toEqual(wrong('what its resultSchema does not allow: /degrees: expected number, got string'));
  });

  test('and may always say that it failed', async () => {
    expect(await resultContentOf(toolOf({ kind: 'agent' }), { content: [text('no')], isError: true })).toEqual({ isError: true, content: [text('no')] });
  });

  test('a behavior that says nothing leaves no empty note', async () => {
    expect(await resultContentOf(toolOf({ kind: 'behavior' }), ' ')).toEqual({ isError: false, content: [text('Done.')] });
  });
});
