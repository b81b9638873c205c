import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { StoredEntry } from '../../src/contracts/transcript.ts';
import { problemsWithEndings, type Closed } from '../../scripts/chaos/check-endings.ts';

const event = (type: string, callId?: string) => ({ type, turnId: 'turn_1', data: callId === undefined ? {} : { callId } }) as unknown as ConversationEvent;
const entry = (of: object) => ({ entry: of }) as unknown as StoredEntry;
const asked = entry({ role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_1' }] });
const result = entry({ role: 'tool', callId: 'call_1' });
const done: Closed = {
  entries: [asked, result],
  events: [
    event('turn.started'),
    event('tool.requested', 'call_1'),
    event('tool.started', 'call_1'),
    event('tool.requested', 'call_2'),
    event('tool.finished', 'call_1'),
    event('tool.finished', 'call_2'),
    event('turn.finished'),
  ],
  calls: [
    { callId: 'call_1', tool: 'chaos:once', state: 'interrupted' },
    { callId: 'call_2', tool: 'chaos:look', state: 'denied' },
  ],
};
const problemsOf = (more: Partial<Closed>, counted = 1) => problemsWithEndings({ ...done, ...more }, () => counted).map(({ what }) => what);

test('what has begun and ended once is right, and so is a call that ended before it began', () => {
  expect(problemsOf({})).toEqual([]);
});

test.each<[what: string, more: Partial<Closed>, problem: string]>([
  ['a call that is left running', { calls: [{ callId: 'call_1', tool: 'shell:run', state: 'running' }] }, 'shell:run (call_1) is running in the ledger'],
  ['a call without a result for the model', { entries: [asked] }, 'call_1 has begun 1 times and has 0 results in the transcript'],
  ['two results', { entries: [asked, result, result] }, 'call_1 has begun 1 times and has 2 results in the transcript'],
  ['a result of no call', { entries: [result] }, 'call_1 has begun 0 times and has 1 results in the transcript'],
  ['a call that has begun and no end', { events: [event('tool.started', 'call_3')] }, 'call_3 has begun 1 times and has 0 ends in the events'],
  ['a call that was requested and has no end', { events: [event('tool.requested', 'call_3')] }, 'call_3 has begun 1 times and has 0 ends in the events'],
  ['an end of a call that was not requested', { events: [event('tool.finished', 'call_3')] }, 'call_3 has begun 0 times and has 1 ends in the events'],
  ['a sub-agent without an end', { events: [event('agent.started', 'call_3')] }, 'call_3 has begun 1 times and has 0 ends of its sub-agent in the events'],
  ['a turn without an end', { events: [event('turn.started')] }, 'turn_1 has begun 1 times and has 0 ends in the events'],
])('%s is reported', (_what, more, problem) => {
  expect(problemsOf(more)).toEqual([problem]);
});

test('a call that may not be repeated and was counted twice is reported', () => {
  expect(problemsOf({}, 2)).toEqual(['call_1 was counted 2 times']);
});
