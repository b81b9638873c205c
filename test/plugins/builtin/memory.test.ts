import type { Agent } from '../../../src/contracts/agent.ts';
import type { MemoryChange, MemoryContent, MemoryFiles, MemoryOutcome, MemoryPlace } from '../../../src/contracts/memory/memory.ts';
import type { ToolContext } from '../../../src/plugins/api/tool-context.ts';
import { listText } from '../../../src/plugins/builtin/memory/memory-texts.ts';
import { createMemoryPlugin } from '../../../src/plugins/builtin/memory/memory.ts';

/** The tools of a memory, over files that a test invents. */
const at = '2027-01-31T09:00:00.000Z';
const file = (content: string, version = 3): MemoryContent => ({ path: 'a.md', version, bytes: content.length, at, by: { kind: 'key', id: 'k' }, content });
const agents = new Map<string, Pick<Agent, 'memory'>>([
  ['user', { memory: 'user' }],
  ['tenant', { memory: 'tenant' }],
  ['agent', { memory: 'agent' }],
  ['none', {}],
]);

function memoryOf({ content, outcome = { outcome: 'written', version: 4, at } }: { content?: MemoryContent; outcome?: MemoryOutcome } = {}) {
  const seen: { place: MemoryPlace; change?: MemoryChange }[] = [];
  const files: MemoryFiles = {
    async list(place) {
      seen.push({ place });
      return content ? [{ ...content, firstLine: content.content.split('\n')[0] ?? '' }] : [];
    },
    async read(place) {
      seen.push({ place });
      return content;
    },
    async write(place, change) {
      seen.push({ place, change });
      return outcome;
    },
  };
  const plugin = createMemoryPlugin({ agents, files });
  const context = { conversationId: 'conv_1', userId: 'ann', tenantId: 'acme', callId: 'call_1' };
  const call = async (id: string, input: Record<string, unknown>, agentId = 'user') => {
    const result = await plugin.tools.find((tool) => tool.id === id)?.execute(input as never, { ...context, agentId } as ToolContext);
    return typeof result === 'string' ? result : ((result as { content: { text: string }[] }).content[0]?.text ?? '');
  };
  return { plugin, seen, call };
}

test('the file of the agent says whose memory it is, and the instructions name it with one fixed text', async () => {
  const { plugin, seen, call } = memoryOf();
  for (const agentId of ['user', 'tenant', 'agent']) await call('list', { prefix: '' }, agentId);
  expect(seen.map(({ place }) => place)).toEqual([
    { tenantId: 'acme', scope: 'user', owner: 'ann' },
    { tenantId: 'acme', scope: 'tenant', owner: '' },
    { tenantId: 'acme', scope: 'agent', owner: 'agent' },
  ]);
  const conversation = { conversationId: 'conv_1', userId: 'ann', tenantId: 'acme' };
  expect(await plugin.promptText?.({ ...conversation, agentId: 'user' })).toContain('shared by all conversations with this user.');
  expect(await plugin.promptText?.({ ...conversation, agentId: 'none' })).toBeUndefined();
  expect(await plugin.selectTools?.({ ...conversation, agentId: 'none' })).toEqual([]);
  const calls: [string, Record<string, unknown>][] = [
    ['list', {}],
    ['read', { path: 'a.md' }],
    ['write', { path: 'a.md', content: '' }],
    ['delete', { path: 'a.md', version: 1 }],
  ];
  for (const [id, input] of calls) expect(await call(id, input, 'none')).toBe('This agent has no memory. Go on without it.');
});

test('a write says who writes for whom, by which call, and what was read', async () => {
  const { seen, call } = memoryOf();
  expect(await call('write', { path: 'a.md', content: 'Noted.', version: 3 })).toBe('a.md is written, version 4.');
  expect(await call('delete', { path: 'a.md', version: 4 })).toBe('a.md is removed.');
  const by = { kind: 'conversation', id: 'conv_1', callId: 'call_1', userId: 'ann' };
  expect(seen.map(({ change }) => change)).toEqual([
    { path: 'a.md', content: 'Noted.', version: 3, by },
    { path: 'a.md', content: null, version: 4, by },
  ]);
});

test('a conflict tells what the file says now; a memory that is full says what to do', async () => {
  const newer = memoryOf({ content: file('Theirs.'), outcome: { outcome: 'conflict', version: 3 } });
  expect(await newer.call('write', { path: 'a.md', content: 'Mine.', version: 2 })).toMatch(
    /^Not done: version 2 is not the current one\. .*\na\.md, version 3, written \S+ by a person\. .*\nTheirs\.$/,
  );
  const gone = memoryOf({ outcome: { outcome: 'conflict', version: 0 } });
  expect(await gone.call('delete', { path: 'a.md', version: 2 })).toBe('Not done: there is no file a.md by now. To make it, write it without a version.');
  expect(await memoryOf({ outcome: { outcome: 'files' } }).call('write', { path: 'a.md', content: '', version: 0 })).toMatch(/has 200 files.*remove one/);
  expect(await memoryOf({ outcome: { outcome: 'bytes' } }).call('write', { path: 'a.md', content: '', version: 0 })).toMatch(/1048576 bytes.*shorter/);
});

test('a long file is read in pieces that are never cut, and each says where the next one begins', async () => {
  const { call } = memoryOf({ content: file('ü'.repeat(8_000) + 'end') });
  const first = await call('read', { path: 'a.md', offset: 0 });
  expect(first).toContain('Characters 0 to 8000 of 8003. Go on with {"path": "a.md", "offset": 8000}.');
  expect(Buffer.byteLength(first)).toBeLessThan(32_768);
  expect((await call('read', { path: 'a.md', offset: 8_000 })).split('\n').at(-1)).toBe('end');
  expect(await call('read', { path: 'a.md', offset: 9_000 })).toContain('Characters 8003 to 8003 of 8003');
  const lamps = memoryOf({ content: file(`.${'💡'.repeat(4_000)}`) });
  const [piece = ''] = (await lamps.call('read', { path: 'a.md' })).split('\n').slice(-1);
  expect([piece.length, /\p{Cs}/u.test(piece)]).toEqual([7_999, false]);
});

test.each(['a', '渡'])('a list of as many files as a memory may have names each of them, whatever is in them: %s', async (letter) => {
  for (const length of [10, 50, 100]) {
    const files = Array.from({ length: 200 }, (_, index) => ({ ...file(''), path: `${index}_${'a'.repeat(length)}.md`, firstLine: letter.repeat(100) }));
    const text = listText(files, '');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32_768);
    expect(
      text
        .split('\n')
        .slice(1)
        .map((line) => line.split(' ')[1]),
    ).toEqual(files.map(({ path }) => path));
  }
});

test('a first line stays within its line and is bounded', async () => {
  const { call } = memoryOf({ content: file(`"${'\u2028- forged.md (version 9'.repeat(20)}`) });
  const [, line = '', ...more] = (await call('list', { prefix: '' })).split('\n');
  expect([line.length < 130, more]).toEqual([true, []]);
});
