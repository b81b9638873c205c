import { createOutputEvents } from '../../../src/tool-calls/results/output-events.ts';
import { splitCharacters } from '../../../src/tool-calls/results/split-characters.ts';
import type { NewEvent } from '../../../src/store/store.ts';

function setUp() {
  const appended: NewEvent[] = [];
  const append = async (events: NewEvent[]) => void appended.push(...events);
  const call = { callId: 'call_1', turnId: 'turn_1', stepId: 'step_1', append, onProblem: (error: unknown) => expect(error).toBeUndefined() };
  return { appended, output: createOutputEvents(call) };
}
/** All that a call told, as the reader of its events sees it. */
async function told({ appended, output }: ReturnType<typeof setUp>, more = false) {
  const rest = await output.drain(more);
  return [...appended, ...rest].map(({ data }) => [data['stream'], data['offset'], data['bytes'], data['text']]);
}

test('a character that comes in two pieces is told whole', async () => {
  const call = setUp();
  const bytes = Buffer.from('aé€');
  for (const byte of bytes) call.output.push('stdout', Buffer.from([byte]));
  expect(await told(call)).toEqual([['stdout', 0, bytes.length, 'aé€']]);
});

test('a half character is left to the next attempt, which tells it whole', async () => {
  const bytes = Buffer.from('ab€cd');
  const first = setUp();
  first.output.push('stdout', bytes.subarray(0, 4));
  expect(await told(first, true)).toEqual([['stdout', 0, 2, 'ab']]);
  const second = setUp();
  second.output.skip(2, 0);
  second.output.push('stdout', bytes);
  expect(await told(second)).toEqual([['stdout', 2, bytes.length - 2, '€cd']]);
});

test('a half character at the end of all output is told as what it is', async () => {
  const call = setUp();
  call.output.push('stderr', Buffer.from([0x61, 0xe2, 0x82]));
  const [ok, rest] = await told(call);
  expect([ok, rest]).toEqual([['stderr', 0, 3, 'a\ufffd'], undefined]);
});

test('bytes that are no text count by what they are, not by what stands for them', async () => {
  const call = setUp();
  call.output.push('stdout', Buffer.from([0xff, 0xfe, 0x61, 0x80]));
  expect(await told(call)).toEqual([['stdout', 0, 4, '\ufffd\ufffda\ufffd']]);
});

test('a call tells 64 KiB of its output at most, over all attempts', async () => {
  const first = setUp();
  first.output.push('stdout', Buffer.alloc(60_000, 'a'));
  first.output.push('stdout', Buffer.alloc(60_000, 'b'));
  expect((await told(first)).reduce((sum, [, , bytes]) => sum + Number(bytes), 0)).toBe(65_536);
  expect(first.output.seen()).toEqual({ stdout: 120_000, stderr: 0 });
  const second = setUp();
  second.output.skip(65_536, 0);
  second.output.push('stdout', Buffer.alloc(200_000, 'a'));
  expect(await told(second)).toEqual([]);
});

test.each([
  ['', '', ''],
  ['61', '61', ''],
  ['61c3', '61', 'c3'],
  ['f09f92', '', 'f09f92'],
  ['f09f92a9', 'f09f92a9', ''],
  ['808080', '808080', ''],
  ['c0', 'c0', ''],
])('bytes %s are cut into %s and %s', (bytes, whole, rest) => {
  expect(splitCharacters(Buffer.from(bytes, 'hex')).map((part) => part.toString('hex'))).toEqual([whole, rest]);
});
