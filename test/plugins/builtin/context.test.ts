import type { StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import type { ToolContext } from '../../../src/plugins/api/tool-context.ts';
import { createContextPlugin } from '../../../src/plugins/builtin/context.ts';

const entries: TranscriptEntry[] = [
  { role: 'user', content: [{ type: 'text', text: 'What is the port of the harbour service?' }] },
  { role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_1', tool: 'shell:run', arguments: { command: 'cat harbour.conf' } }] },
  {
    role: 'tool',
    callId: 'call_1',
    tool: 'shell:run',
    content: [{ type: 'text', text: `${'# comment\n'.repeat(2_000)}harbour_port = 4711\n` }],
    isError: false,
  },
  { role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_2', tool: 'context:recall', arguments: { query: 'harbour_port' } }] },
  { role: 'tool', callId: 'call_2', tool: 'context:recall', content: [{ type: 'text', text: 'harbour_port = 4711' }], isError: false },
  { role: 'tool', callId: 'call_3', tool: 'files:read', content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }], isError: false },
];
const transcript = entries.map((entry, index): StoredEntry => ({ seq: index + 1, turnId: 'turn_1', at: '2027-01-31T09:00:00.000Z', entry }));

/** Calls the tool in a conversation of which only this transcript is known. */
async function recall(input: Record<string, unknown>, known = transcript): Promise<unknown> {
  const plugin = createContextPlugin(async (conversationId) => (conversationId === 'conv_1' ? known : []));
  const [tool] = plugin.tools;
  const given = { offset: 0, characters: 8_000, ...input };
  return await tool?.execute(given, { conversationId: 'conv_1' } as ToolContext);
}

function textOf(result: unknown): string {
  if (typeof result !== 'string') throw new Error(`no text: ${JSON.stringify(result)}`);
  return result;
}

test('a search finds what was said and done, the best first, and never its own results', async () => {
  const found = textOf(await recall({ query: 'harbour_port' }));
  expect(found.split('\n').slice(1)).toEqual([expect.stringMatching(/^Entry 3 \(result of shell:run\): ….*harbour_port = 4711 $/)]);
  const words = textOf(await recall({ query: 'harbour port service' })).split('\n');
  expect(words[1]).toMatch(/^Entry 1 \(message of the user\): What is the port/);
  expect(words[2]).toMatch(/^Entry 3/);
});

test('a search without a hit says so', async () => {
  expect(await recall({ query: 'lighthouse' })).toBe('No entry contains any word of "lighthouse". Try other words.');
});

test('an entry is read in pieces, and each piece says where the next one begins', async () => {
  const first = (await recall({ entry: 3 })) as { content: { text: string }[] };
  expect(first.content[0]?.text.split('\n')[0]).toBe('Entry 3 (result of shell:run), characters 0 to 8000 of 20020. Go on with {"entry": 3, "offset": 8000}.');
  const last = await recall({ entry: 3, offset: 20_000 });
  expect(last).toEqual({ content: [{ type: 'text', text: 'Entry 3 (result of shell:run), characters 20000 to 20020 of 20020.\nharbour_port = 4711\n' }] });
});

test.each(['渡', '🚢', 'a🚢', 'aé渡🚢'])('pieces of %s have all characters, and are never cut as too long a result', async (text) => {
  const whole = text.repeat(15_000);
  const known = [{ ...transcript[0], entry: { role: 'user', content: [{ type: 'text', text: whole }] } } as StoredEntry];
  let read = '';
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const { content } = (await recall({ entry: 1, offset, characters: 20_000 }, known)) as { content: { text: string }[] };
    const [head = '', piece = ''] = content[0]?.text.split('\n') ?? [];
    expect(Buffer.byteLength(`${head}\n${piece}`)).toBeLessThanOrEqual(32_768);
    read += piece;
    const next = /"offset": (\d+)/.exec(head)?.[1];
    offset = next === undefined ? undefined : Number(next);
  }
  expect(read === whole).toBe(true);
});

test('images come with the entry, calls with their arguments', async () => {
  expect(await recall({ entry: 6 })).toMatchObject({ content: [{ type: 'text' }, { type: 'image', data: 'AAAA' }] });
  expect(await recall({ entry: 2 })).toMatchObject({ content: [{ text: expect.stringContaining('Call of shell:run with {"command":"cat harbour.conf"}') }] });
});

test('what is not there is an error that says what to do', async () => {
  expect(await recall({ entry: 99 })).toMatchObject({ isError: true, content: [{ text: 'There is no entry 99. Find entries with "query".' }] });
  expect(await recall({})).toMatchObject({ isError: true, content: [{ text: 'Give words as "query", or a number as "entry".' }] });
});
