import type { JsonObject } from '../../../src/contracts/json.ts';
import type { AssistantPart, StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';
import { changeAnswer } from '../../../src/tool-calls/hooks/change-answer.ts';
import { changePrompt } from '../../../src/tool-calls/hooks/change-prompt.ts';
import { bench, hooked, type Answer } from './support.ts';

const entries: TranscriptEntry[] = [
  { role: 'user', content: [{ type: 'text', text: 'one' }] },
  {
    role: 'assistant',
    parts: [
      { type: 'text', text: 'asking' },
      { type: 'tool-call', callId: 'call_1', tool: 'a:tide', arguments: {} },
    ],
  },
  { role: 'tool', callId: 'call_1', tool: 'a:tide', content: [{ type: 'text', text: 'high' }], isError: false },
  { role: 'note', text: 'two' },
  { role: 'user', content: [{ type: 'text', text: 'three' }] },
];
const shown = entries.map((entry, index): StoredEntry => ({ seq: index + 1, turnId: 'turn_1', at: '', entry }));
const tools = ['a__tide', 'b__tide', 'b__moon'].map((name) => ({ tool: name.replace('__', ':'), name, description: name, parameters: { type: 'object' } }));
const available = tools.map(({ tool }) => ({ id: tool, pluginId: tool.slice(0, 1) })) as never[];
const asked = { instructions: 'Be brief.', tools, shown };

async function prompt(answer: Answer) {
  return changePrompt(bench([hooked('plugin', 'asking', { one: { answer } })]).hooks, 'step_1', asked, available);
}

type Message = { seq: number | null; role: string; text: string };
const messagesOf = (value: JsonObject) => value['messages'] as Message[];

test('plugins see the prompt as messages, and tools by their own names where these are unique', async () => {
  let seen: JsonObject = {};
  expect(await prompt((value) => ((seen = value), {}))).toEqual(asked);
  expect(seen['messages']).toEqual([
    { seq: 1, role: 'user', text: 'one' },
    { seq: 2, role: 'assistant', text: 'asking' },
    { seq: 3, role: 'tool', text: 'high' },
    { seq: 4, role: 'user', text: 'two' },
    { seq: 5, role: 'user', text: 'three' },
  ]);
  expect((seen['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(['a__tide', 'b__tide', 'moon']);
});

test('texts, instructions and the tools that are shown can be changed, and messages added', async () => {
  const changed = await prompt((value) => {
    const [one, ...others] = messagesOf(value);
    const messages = [{ ...one, text: 'uno' }, { seq: null, role: 'user', text: 'Hurry.' }, ...others] as never[];
    return { value: { ...value, instructions: 'Be kind.', messages, tools: (value['tools'] as never[]).slice(1) } };
  });
  expect(changed.instructions).toBe('Be kind.');
  expect(changed.tools.map(({ name }) => name)).toEqual(['b__tide', 'b__moon']);
  expect(changed.shown.slice(0, 2)).toMatchObject([
    { seq: 1, entry: { role: 'user', content: [{ type: 'text', text: 'uno' }] } },
    { entry: { role: 'note', text: 'Hurry.' } },
  ]);
  expect(changed.shown).toHaveLength(6);
});

test('messages can be left out, but no half of a call, and not the newest one', async () => {
  const changed = await prompt((value) => ({ value: { ...value, messages: [] } }));
  expect(changed.shown.map(({ seq }) => seq)).toEqual([2, 3, 5]);
});

test('a summary and a message of the user with the same number are told apart', async () => {
  const summed = [shown[0], { ...shown[3], seq: 1, entry: { role: 'note', text: 'summary' } }, shown[4]] as StoredEntry[];
  const ask = (answer: Answer) =>
    changePrompt(bench([hooked('plugin', 'asking', { one: { answer } })]).hooks, 'step_1', { ...asked, shown: summed }, available);
  expect((await ask(() => ({}))).shown).toEqual(summed);
  const { shown: changed } = await ask((value) => {
    const [one, two, three] = messagesOf(value);
    return { value: { ...value, messages: [{ ...one, text: 'uno' }, { seq: null, role: 'user', text: 'Hurry.' }, two, three] as never[] } };
  });
  expect(changed.map(({ entry }) => entry)).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'uno' }] },
    { role: 'note', text: 'Hurry.' },
    { role: 'note', text: 'summary' },
    summed[2]?.entry,
  ]);
});

test('what is put before the newest messages comes after the older ones, which plugins do not see', async () => {
  const long = { ...shown[0], entry: { role: 'user', content: [{ type: 'text', text: 'x'.repeat(300_000) }] } } as StoredEntry;
  const hooks = bench([
    hooked('plugin', 'asking', {
      one: { answer: (value) => ({ value: { ...value, messages: [{ seq: null, role: 'user', text: 'Hurry.' }, ...messagesOf(value)] } }) },
    }),
  ]).hooks;
  const { shown: changed } = await changePrompt(hooks, 'step_1', { ...asked, shown: [long, ...shown.slice(1)] }, available);
  expect(changed.map(({ entry }) => entry)).toEqual([long.entry, { role: 'note', text: 'Hurry.' }, ...entries.slice(1)]);
});

test.each([{}, { instructions: 7, messages: [], tools: [] }])('a prompt that is none changes nothing: %j', async (value) => {
  expect(await prompt(() => ({ value: value as JsonObject }))).toEqual(asked);
});

const said = (text: string): AssistantPart => ({ type: 'text', text });
const call = (harbour: string): AssistantPart => ({ type: 'tool-call', callId: '', tool: 'a__tide', arguments: { harbour } });
async function answered(point: 'answered' | 'sending', parts: AssistantPart[], answer: Answer) {
  const { hooks, sent } = bench([hooked('plugin', point, { one: { answer } })]);
  const changed = await changeAnswer(hooks, 'step_1', { parts, usage: { inputTokens: 1, outputTokens: 1 } }, (tool) => tool.slice(3));
  return { parts: changed.parts, sent };
}

test('a text and arguments are changed, calls are left out, and none is added', async () => {
  const parts = [{ type: 'reasoning' as const, text: 'hm' }, said('Damn. '), call('north'), call('south')];
  const { parts: changed } = await answered('answered', parts, (value) => {
    const calls = value['calls'] as JsonObject[];
    expect(calls[0]).toEqual({ id: '0', name: 'tide', arguments: { harbour: 'north' } });
    return {
      value: {
        ...value,
        text: 'Darn.',
        calls: [
          { ...calls[1], arguments: { harbour: 'east' } },
          { id: '7', name: 'x', arguments: {} },
        ],
      },
    };
  });
  expect(changed).toEqual([parts[0], said('Darn.'), call('east')]);
});

test('an answer that nothing changes stays as it is', async () => {
  const parts = [said('a'), call('north'), said('b')];
  expect((await answered('answered', parts, () => ({}))).parts).toEqual(parts);
  expect((await answered('sending', [said('a'), said('b')], () => ({}))).parts).toEqual([said('a'), said('b')]);
});

test('only the message that ends a turn is seen before it is sent', async () => {
  const fail = () => {
    throw new Error('it was asked');
  };
  expect((await answered('sending', [said('a'), call('north')], fail)).parts).toHaveLength(2);
});

test('what a message becomes is sent, and told where it is no text', async () => {
  const voice = { type: 'file', mediaType: 'audio/wav', name: 'voice.wav', data: 'UklGRg==' };
  const { parts, sent } = await answered('sending', [said('aloud')], (value) => ({ value: { ...value, text: '', parts: [voice] } }));
  expect([parts, sent]).toEqual([[said('(voice.wav)')], [voice]]);
});

test('a message that is stopped is not sent', async () => {
  expect((await answered('sending', [said('never')], () => ({ stopped: true }))).parts).toEqual([said('(no answer)')]);
});
