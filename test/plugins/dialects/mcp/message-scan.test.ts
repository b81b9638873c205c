import { scanBody, scanEvents } from '../../../../src/plugins/dialects/mcp/connection/message-scan.ts';

const MARK = '\uFEFF';
const DEEP = '['.repeat(600);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Byte by byte, as a server may send it. */
function scanned(text: string): string | undefined {
  const scan = scanEvents(10_000);
  return [...bytes(text)].map((byte) => scan(Uint8Array.of(byte))).find((excess) => excess !== undefined);
}

test.each([
  ['plain', `data: ${DEEP}\n\n`],
  ['in the second of its lines', `event: message\nid: 1\ndata: ${DEEP}\n\n`],
  ['behind a byte order mark, which readers leave out', `${MARK}data: ${DEEP}\n\n`],
  ['behind two of them', `${MARK}${MARK}data: ${DEEP}\n\n`],
  ['in the second event', `data: {}\n\ndata: ${DEEP}\n\n`],
])('a message that is nested too deeply is refused: %s', (_where, text) => {
  expect(scanEvents(10_000)(bytes(text))).toContain('is nested more than');
  expect(scanned(text)).toContain('is nested more than');
});

test('what is no data, and a mark elsewhere than at the beginning, is not looked at', () => {
  for (const text of [`: ${DEEP}\n\n`, `event: ${DEEP}\n\n`, `data: {}\n\n${MARK}data: ${DEEP}\n\n`]) expect(scanned(text)).toBeUndefined();
});

test('a body behind a byte order mark is looked at as well', () => {
  expect(scanBody(10_000)(bytes(`${MARK}${DEEP}`))).toContain('is nested more than');
});
