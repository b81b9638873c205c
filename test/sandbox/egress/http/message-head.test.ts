import { Readable } from 'node:stream';
import { ByteReader } from '../../../../src/sandbox/egress/http/byte-reader.ts';
import { readRequestHead, readResponseHead } from '../../../../src/sandbox/egress/http/message-head.ts';
import { cpuMs } from '../../../support/cpu-time.ts';

const reader = (text: string) => new ByteReader(Readable.from([Buffer.from(text, 'latin1')], { objectMode: false }));
const fieldsOf = async (lines: string) => (await readRequestHead(reader(`GET / HTTP/1.1\r\n${lines}\r\n\r\n`)))?.fields;

test('spaces and tabs around the value of a header are taken off, and no other bytes', async () => {
  expect(await fieldsOf('a:b\r\na: \t b \t c\t \r\na:\r\na: \t \r\na:\xa0b\xa0')).toEqual([
    ['a', 'b'],
    ['a', 'b \t c'],
    ['a', ''],
    ['a', ''],
    ['a', '\xa0b\xa0'],
  ]);
});

const spaces = ' '.repeat(60_000);
test.each([
  ['within a value', `a: x${spaces}x`, undefined],
  ['before a byte that no value may have', `a:${spaces}\x01`, 'a line of the head is not a header ("a:'],
  ['around a byte that no value may have', `a:${spaces.slice(30_000)}\x7f${spaces.slice(30_000)}`, 'a line of the head is not a header ("a:'],
  ['in a line without a colon', `a${spaces}`, 'a line of the head is not a header ("a '],
  ['before a colon', `a${spaces}:`, 'a header has white space before its colon'],
])('60,000 spaces %s hold up the worker no longer than others', async (_, line, problem) => {
  const since = cpuMs();
  for (const head of [fieldsOf(line), readResponseHead(reader(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n`))]) {
    if (problem === undefined) await head;
    else await expect(head).rejects.toThrow(problem);
  }
  expect(cpuMs() - since).toBeLessThan(1_500);
});
