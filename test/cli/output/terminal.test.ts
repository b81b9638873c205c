import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import * as fc from 'fast-check';
import { createEventPrinter } from '../../../src/cli/output/event-printer.ts';
import { printJson, printLine, type Cli } from '../../../src/cli/output/cli.ts';
import { printTable } from '../../../src/cli/output/table.ts';
import { createOutput } from '../../../src/cli/output/terminal.ts';
import type { ConversationEvent, EventData, EventType } from '../../../src/contracts/events.ts';

const CLI = join(import.meta.dirname, '../../../src/cli');
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\u001B]52;c;aGk=\u0007', '\u009B2J', '\u202Egnp.exe', 'x\u200B\u{E0041}\uFE0F', '\r\u001B[A', '\uD800', 'a\nb'),
  fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('latin1')),
);

function terminal(isTTY = true): { cli: Cli; shown: () => string } {
  const stream = Object.assign(new PassThrough({ highWaterMark: 1e9 }), { isTTY });
  const out = createOutput(stream);
  const unused = () => {
    throw new Error('not used here');
  };
  const unheard = () => () => undefined;
  const cli: Cli = { out, err: out, in: new PassThrough(), config: unused, connect: unused, onInterrupt: unheard, onReaderGone: unheard, exitCode: 0 };
  return { cli, shown: () => String((stream.read() as Buffer | null) ?? '') };
}

test('commands have no other way to a terminal than the one that escapes', () => {
  const drivers = new Set(['output/terminal.ts', 'conversations/chat-session.ts', 'output/confirmed.ts', 'sandbox/shell.ts']);
  const files = readdirSync(CLI, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts') && !name.startsWith('plugins/templates'));
  expect(files.length).toBeGreaterThan(40);
  for (const name of files) {
    const source = readFileSync(join(CLI, name), 'utf8');
    const direct =
      name === 'output/terminal.ts' ? undefined : /console\.|process\.std(?:out|err)\.(?!on\()|(?:cli|out|err|stdout|stderr|stream)\.write\(/.exec(source)?.[0];
    expect([name, direct]).toEqual([name, undefined]);
    // The stream itself is for readline and for a terminal that a person asked for.
    if (!drivers.has(name)) expect([name, /\.stream\b/.exec(source)?.[0]]).toEqual([name, undefined]);
  }
});

test('text, tables and JSON show what they hold and do nothing', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const { cli, shown } = terminal();
      printLine(cli, text);
      printTable(cli, ['HEAD', 'SECOND'], [[text, text]]);
      const table = shown();
      expect(table.replaceAll('\n', '')).not.toMatch(UNSEEN);
      expect(table.split('\n').at(-3)).toMatch(/^HEAD +SECOND/);
      printJson(cli, { [text]: [text] });
      const json = shown();
      expect(json.replaceAll('\n', '')).not.toMatch(UNSEEN);
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ [text]: [text] })));
    }),
  );
});

test('no event of a conversation acts on the terminal of who follows it', () => {
  const events = (text: string): { [Type in EventType]?: EventData[Type] } => ({
    'message.sent': { callId: text, tool: text, index: 0, part: { type: 'image', mediaType: text, data: '' } },
    'text.delta': { text },
    'tool.requested': { callId: text, tool: text, arguments: { command: text, [text]: text }, decision: text, why: text },
    'tool.approval-requested': { callId: text, tool: text, hash: text, why: text, arguments: { [text]: text }, expiresAtMs: 0 },
    'tool.approval-resolved': { callId: text, tool: text, answer: 'allow', hash: text, by: text },
    'tool.output': { callId: text, stream: 'stdout', offset: 0, bytes: 1, text },
    'tool.unknown': { callId: `${text}2`, tool: text, why: text },
    'tool.finished': { callId: text, tool: text, isError: true, text, durationMs: 1 },
    'conversation.paused': { by: 'operator', note: text },
    'turn.finished': { outcome: 'failed', message: text },
    note: { text },
  });
  fc.assert(
    fc.property(hostile, (text) => {
      const { cli, shown } = terminal();
      const print = createEventPrinter(cli);
      for (const [type, data] of Object.entries(events(text))) {
        print({ seq: 1, at: '', conversationId: text, type, data } as unknown as ConversationEvent);
      }
      expect(shown().replaceAll('\n', '')).not.toMatch(UNSEEN);
    }),
  );
});

test("a program's bytes are text on a terminal, whatever pieces they come in, and bytes elsewhere", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array()), async (pieces) => {
      const { cli, shown } = terminal();
      const writer = cli.out.program('on-terminal');
      for (const piece of pieces) await writer.put(piece);
      await writer.end();
      expect(shown().replaceAll('\n', '')).not.toMatch(UNSEEN);
    }),
  );
  const bytes = Buffer.from('é\u001B[31m\r\n');
  const on = async (isTTY: boolean, escape: 'on-terminal' | 'always' | 'never') => {
    const { cli, shown } = terminal(isTTY);
    const writer = cli.out.program(escape);
    for (const byte of bytes) await writer.put(Buffer.from([byte]));
    await writer.end();
    return shown();
  };
  expect(await on(false, 'on-terminal')).toBe('é\u001B[31m\r\n');
  expect(await on(true, 'never')).toBe('é\u001B[31m\r\n');
  expect(await on(false, 'always')).toBe('é\\u001b[31m\n');
  expect(await on(true, 'on-terminal')).toBe('é\\u001b[31m\n');
});

test('a very long line is cut and says so', () => {
  const { cli, shown } = terminal();
  printLine(cli, `${'x'.repeat(20_005)}\nend`);
  expect(shown()).toBe(`${'x'.repeat(20_000)} …cut, 5 more characters in this line\nend\n`);
});

test.each(['never', 'always'] as const)('many chunks for a slow reader wait together, in order (%s)', async (escape) => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const writer = createOutput(stream).program(escape);
  const numbers = Array.from({ length: 40 }, (_, number) => `${number}\n`);
  const written = Promise.all(numbers.map((line) => writer.put(Buffer.from(line))));
  // Node.js warns of a leak from the eleventh on.
  for (const name of ['drain', 'finish', 'close', 'error', 'end']) expect([name, stream.listenerCount(name) < 5]).toEqual([name, true]);
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await written;
  await writer.end();
  expect(text).toBe(numbers.join(''));
});

test('a stream that fails at each write, as one without a reader does, keeps no listeners', async () => {
  const stream = new Writable({ highWaterMark: 1, autoDestroy: false, write: (_chunk, _encoding, done) => setImmediate(done, new Error('EPIPE')) });
  stream.on('error', () => undefined);
  const writer = createOutput(stream).program('never');
  for (let count = 0; count < 20; count += 1) await writer.put(Buffer.from('x'));
  for (const name of ['drain', 'finish', 'close', 'error', 'end']) expect([name, stream.listenerCount(name) < 5]).toEqual([name, true]);
});
