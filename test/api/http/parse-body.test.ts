import { parseBody } from '../../../src/api/http/problem.ts';

test('a body whose numbers would be changed is refused with the first of them', () => {
  expect(parseBody('{"id":9007199254740991,"text":"9007199254740993"}')).toEqual({ id: 9_007_199_254_740_991, text: '9007199254740993' });
  expect(() => parseBody('{"result":{"id":9007199254740993}}')).toThrow('body: its number 9007199254740993 would be rounded. Send it as a string');
});
