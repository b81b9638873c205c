import { toValue } from '../../../src/tool-calls/results/method-answer.ts';

test('code gets the text of content, and the parts of other content', () => {
  expect(
    toValue({
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    }),
  ).toBe('a\nb');
  expect(toValue({ content: [] })).toBe('');
  const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' };
  expect(toValue({ content: [image], isError: false })).toEqual([image]);
});

test.each([
  [{ content: ['a', 'b'], total: 2 }],
  [{ content: [null] }],
  [{ content: [{ id: 1 }], next: 'x' }],
  [{ content: 'a' }],
  [{ content: [], total: 0 }],
  [null],
])('an object with a list of other things that is called content is JSON: %j', (result) => {
  expect(toValue(result)).toEqual(result);
});
