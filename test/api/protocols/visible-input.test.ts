import { visibleInput } from '../../../examples/ui-chat/visible-input.ts';
import { visibleJson } from '../../../src/contracts/visible-text.ts';

test('the chat example shows the input of a call as all pages of the service do: no character of it is hidden or moves others', () => {
  const deceiving = [
    '\u202Egnp.exe\u202C',
    '\u001B[31m',
    'a\u200Bb',
    'a\u00A0b',
    'line\u2028break',
    '\u{E0041}',
    `e${'\u0301'.repeat(9)}`,
    '\u2800',
    'plain <b> "text"\n日本',
  ];
  for (const command of deceiving) expect(visibleInput({ command })).toBe(visibleJson({ command }));
  expect(visibleInput({ command: '\u202Egnp.exe' })).toBe('{"command":"\\u202egnp.exe"}');
  expect(visibleInput(undefined)).toBe('');
});
