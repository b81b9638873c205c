import { createMask } from '../../../src/sandbox/handle/secrets/mask.ts';

const mask = createMask(['sesame-4711', 'abab', 'x', 'quo"ted\nsecond line']);

function throughPieces(text: string, size: number): string {
  const stream = mask.stream();
  const bytes = Buffer.from(text);
  const shown: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) shown.push(stream.push(bytes.subarray(at, at + size)));
  return Buffer.concat([...shown, stream.end()]).toString();
}

test.each([
  ['key=sesame-4711!', 'key=***********!'],
  ['sesame-sesame-4711', 'sesame-***********'],
  ['sesame-471', 'sesame-471'],
  ['ababab.aba', '******.aba'],
  ['x stays, it is too short', 'x stays, it is too short'],
  ['{"a":"quo\\"ted\\nsecond line"}', `{"a":"${'*'.repeat(21)}"}`],
  ['only second line', 'only ***********'],
  ['é sesame-4711 é', 'é *********** é'],
])('of %j, %j is shown, however it is cut', (text, shown) => {
  expect(mask.text(text)).toBe(shown);
  for (const size of [1, 2, 3, 7, 100]) expect(throughPieces(text, size)).toBe(shown);
});

test('what was cut at the edges of a gap is masked too', () => {
  expect(mask.edges('head sesam', '-4711 tail')).toEqual({ head: 'head *****', tail: '***** tail' });
  expect(mask.edges('head sesame-4711', 'sesame-4711 tail')).toEqual({ head: 'head ***********', tail: '*********** tail' });
});
