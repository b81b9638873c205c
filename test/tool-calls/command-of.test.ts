import type { Agent } from '../../src/contracts/agent.ts';
import type { StoredEntry, TranscriptEntry } from '../../src/contracts/transcript.ts';
import { definePlugin, defineTool } from '../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import { commandOf } from '../../src/tool-calls/offer/command-of.ts';

const command = (name: string, pattern: string) => ({
  ...defineTool({
    id: name,
    description: name,
    parameters: { type: 'object', properties: { text: { type: 'string', pattern } }, required: ['text'] },
    visibility: 'hidden',
    execute: async () => 'done',
  }),
  isCommand: true as const,
});
const plugin = definePlugin({
  id: 'tides',
  tools: [
    command('command.tide', '^/tide'),
    command('command.all', '^/'),
    defineTool({ id: 'tide', description: 'No command.', parameters: { type: 'object' }, execute: async () => '' }),
  ],
});
const registry = createRegistry([plugin]);
const agent = { id: 'sailor', tools: ['tides:*'], plugins: [] } as unknown as Agent;

const said = (text: string): TranscriptEntry => ({ role: 'user', content: [{ type: 'text', text }] });
const called = (tool: string): TranscriptEntry => ({ role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_1', tool, arguments: {} }] });
const result = (tool: string): TranscriptEntry => ({ role: 'tool', callId: 'call_1', tool, content: [{ type: 'text', text: 'High.' }], isError: false });
const find = (step: number, entries: TranscriptEntry[], tools = agent.tools) => {
  const transcript = entries.map((entry, index): StoredEntry => ({ seq: index + 1, turnId: 'turn_1', at: '', entry }));
  return commandOf(registry, { ...agent, tools }, transcript, { turnId: 'turn_1', step, ...(step < 2 && { mayBeCommand: true }) });
};

test('the first command that a message fits is called', async () => {
  expect(await find(0, [said('/tide north')])).toMatchObject({ tool: { id: 'tides:command.all' }, text: '/tide north' });
  expect(await find(0, [said(' /tide ')], ['tides:command.tide'])).toMatchObject({ tool: { id: 'tides:command.tide' }, text: '/tide' });
  expect(await find(0, [said('the tide')])).toBeUndefined();
});

test('only commands that the agent may call are called', async () => {
  expect(await find(0, [said('/tide')], ['tides:tide'])).toBeUndefined();
});

test('when the command has been called, its result is said', async () => {
  const entries = [said('/tide'), called('tides:command.all'), result('tides:command.all')];
  expect(await find(1, entries)).toMatchObject({ said: 'High.' });
  expect(await find(2, entries)).toBeUndefined();
});

test('the model answers where another message has joined the turn, and where it has made the call itself', async () => {
  expect(await find(1, [said('/tide'), called('tides:command.all'), result('tides:command.all'), said('Thanks')])).toBeUndefined();
  expect(await find(1, [said('the tide'), called('tides:command.all'), result('tides:command.all')])).toBeUndefined();
  expect(await find(1, [said('/tide'), called('tides:tide'), result('tides:tide')])).toBeUndefined();
});
