import { MAX_EVENT_OUTPUT, outputOf, parseAnswer } from '../../src/contracts/output.ts';

test.each([
  ['the text alone', ' {"high": "12:04"} \n', { high: '12:04' }],
  ['a value that is no object', '[1, 2]', [1, 2]],
  ['one code fence', '```json\n{"high": 1}\n```', { high: 1 }],
  ['one code fence with words around it', 'Here it is:\n```\n{"high": 1}\n```\nThat is all.', { high: 1 }],
  ['a text that contains a fence', '"a ``` b"', 'a ``` b'],
])('a JSON value is found in %s', (_what, text, value) => {
  expect(parseAnswer(text)).toEqual({ value });
});

test.each([
  ['nothing', '  ', 'it has no text, and no JSON value'],
  ['words', 'It is high at noon.', /^it is no JSON value \(.*\)$/],
  ['two fences', '```\n1\n```\n```\n2\n```', /^it is no JSON value/],
  ['a fence without an end', '```json\n{}', /^it is no JSON value/],
  ['a number that loses digits', '{"id": 9007199254740993}', 'its number 9007199254740993 would be rounded; write it as a string, if the schema takes one'],
  ['too many levels', `${'['.repeat(600)}${']'.repeat(600)}`, 'its JSON is nested more than 500 levels deep'],
  ['too many keys', `{${Array.from({ length: 200_001 }, () => '"a":1').join(',')}}`, /^its JSON has more than 200000 keys/],
])('%s is no JSON value, and the problem says why', (_what, text, problem) => {
  const found = parseAnswer(text);
  expect(found).toEqual({ problem: typeof problem === 'string' ? problem : expect.stringMatching(problem) });
});

test('an event has a value up to a limit, and above it only its size', () => {
  const fits = 'x'.repeat(MAX_EVENT_OUTPUT - 2);
  expect(outputOf(fits)).toEqual({ output: fits });
  expect(outputOf(`${fits}y`)).toEqual({ outputCharacters: MAX_EVENT_OUTPUT + 1 });
});
