import { createLineReader } from '../../../src/common/lines/line-reader.ts';
import { createCodeReader } from '../../../src/sandbox/handle/code/code-reader.ts';
import { createServerReader } from '../../../src/sandbox/handle/code/server-reader.ts';
import { heldBytes } from '../../support/held-memory.ts';

const PIECES = 1_000_000;

function lineReader() {
  const lines: string[] = [];
  const push = createLineReader({ maxBytes: 10_000_000, onLine: (line) => lines.push(line), onTooLong: () => lines.push('too long') });
  return { push, seen: () => lines };
}
function codeReader() {
  const reader = createCodeReader();
  return { push: (chunk: Buffer) => reader.push(chunk), seen: () => [reader.end().executionCount] };
}
function serverReader() {
  const reader = createServerReader({});
  return { push: (chunk: Buffer) => reader.push(chunk), seen: () => [reader.answer()] };
}

test.each([
  ['a plugin', lineReader, `"${' '.repeat(PIECES)}"`, `"${' '.repeat(PIECES)}"`],
  ['code', codeReader, `{"type":"started",${' '.repeat(PIECES)}"count":7}`, 7],
  ['a server', serverReader, `{"type":"gone",${' '.repeat(PIECES)}"why":"over"}`, { outcome: 'gone', why: 'over' }],
])('a line of %s that comes byte by byte takes no more memory than its bytes', (_what, create, line, expected) => {
  const reader = create();
  // Each piece is a part of what was read of the stream to a sandbox.
  const read = Buffer.from(line);
  const before = heldBytes();
  for (let at = 0; at < read.length; at += 1) reader.push(read.subarray(at, at + 1));
  const held = heldBytes() - before;
  reader.push(Buffer.from('\n'));
  expect(reader.seen()).toEqual([expected]);
  expect(held).toBeLessThan(50 * PIECES);
});
