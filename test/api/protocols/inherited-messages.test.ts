import type { StoredEntry } from '../../../src/contracts/transcript.ts';
import { inheritedMessages } from '../../../src/api/protocols/ui-stream/inherited-messages.ts';

const entry = (seq: number, turnId: string, given: StoredEntry['entry']): StoredEntry => ({ seq, turnId, at: '2026-11-25T00:00:00.000Z', entry: given });
const user = (seq: number, turnId: string, said: string) => entry(seq, turnId, { role: 'user', content: [{ type: 'text', text: said }] });

test('entries become the messages of a page: calls with their results, and what joined a turn within its message', () => {
  const call = (callId: string, tool: string) => ({ type: 'tool-call' as const, callId, tool, arguments: { a: 1 } });
  const result = (seq: number, callId: string, tool: string, said: string, isError = false) =>
    entry(seq, 't1', { role: 'tool', callId, tool, content: [{ type: 'text', text: said }], isError });
  const messages = inheritedMessages([
    user(1, 't1', 'Go.'),
    entry(2, 't1', {
      role: 'assistant',
      parts: [{ type: 'reasoning', text: 'Hm.' }, call('c1', 'shell:run'), call('c2', 'client:open'), call('c3', 'shell:run')],
    }),
    result(3, 'c2', 'client:open', '{"b":2}'),
    result(4, 'c1', 'shell:run', 'done'),
    result(5, 'c3', 'shell:run', 'no', true),
    user(6, 't1', 'And this.'),
    entry(7, 't1', { role: 'note', text: 'Noted.' }),
    entry(8, 't1', { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] }),
    user(9, 't2', 'More.'),
  ]);
  expect(messages.map(({ seq, message: { id, role } }) => [seq, id, role])).toEqual([
    [1, 'entry-1', 'user'],
    [2, 't1', 'assistant'],
    [9, 'entry-9', 'user'],
  ]);
  expect(messages[1]?.message.parts).toEqual([
    { type: 'step-start' },
    { type: 'reasoning', text: 'Hm.', state: 'done' },
    { type: 'dynamic-tool', toolName: 'shell:run', toolCallId: 'c1', state: 'output-available', input: { a: 1 }, output: 'done', providerExecuted: true },
    { type: 'tool-open', toolCallId: 'c2', state: 'output-available', input: { a: 1 }, output: { b: 2 }, providerExecuted: true },
    { type: 'dynamic-tool', toolName: 'shell:run', toolCallId: 'c3', state: 'output-error', input: { a: 1 }, errorText: 'no', providerExecuted: true },
    { type: 'data-steer', id: 'entry-6', data: { text: 'And this.' } },
    { type: 'data-note', id: 'note-7', data: { text: 'Noted.' } },
    { type: 'step-start' },
    { type: 'text', text: 'Done.', state: 'done' },
  ]);
});
