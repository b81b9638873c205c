import { createRunOutcome } from '../../../src/cli/conversations/run-outcome.ts';
import type { ConversationEvent, EventType } from '../../../src/contracts/events.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';

const event = (type: EventType, data: JsonObject = {}) => ({ seq: 1, at: '', conversationId: 'conv_1', turnId: 'turn_1', type, data }) as ConversationEvent;

test('the outcome sums the usage of all steps and tells how every call ended', () => {
  const outcome = createRunOutcome('conv_1');
  const calls = ['a', 'b', 'c', 'd'].map((callId) => event('tool.requested', { callId, tool: 'shell:run', arguments: {}, decision: 'allow' }));
  const events = [
    event('step.finished', { usage: { inputTokens: 10, outputTokens: 1 } }),
    ...calls,
    event('tool.finished', { callId: 'a', tool: 'shell:run', isError: false, text: '', durationMs: 1 }),
    event('tool.finished', { callId: 'b', tool: 'shell:run', isError: true, text: '', durationMs: 1 }),
    event('tool.unknown', { callId: 'c', tool: 'shell:run', why: 'gone' }),
    event('step.finished', { usage: { inputTokens: 20, outputTokens: 2 } }),
  ];
  for (const one of events) expect(outcome.add(one)).toBe(false);
  expect(outcome.add(event('turn.finished', { outcome: 'finished' }))).toBe(true);
  expect(outcome.get('Done.')).toEqual({
    type: 'outcome',
    outcome: 'finished',
    conversationId: 'conv_1',
    turnId: 'turn_1',
    reply: 'Done.',
    usage: { inputTokens: 30, outputTokens: 3 },
    toolCalls: [
      { callId: 'a', tool: 'shell:run', state: 'finished' },
      { callId: 'b', tool: 'shell:run', state: 'failed' },
      { callId: 'c', tool: 'shell:run', state: 'unknown' },
      { callId: 'd', tool: 'shell:run', state: 'requested' },
    ],
  });
});

test('the outcome says whether the last answer was cut off', () => {
  const outcome = createRunOutcome('conv_1');
  const usage = { inputTokens: 1, outputTokens: 1 };
  outcome.add(event('step.finished', { usage, cutOff: 'length' }));
  expect(outcome.get('High at')).toMatchObject({ cutOff: 'length' });
  outcome.add(event('step.finished', { usage }));
  expect(outcome.get('Done.')).not.toHaveProperty('cutOff');
});

test.each([
  ['from the event', { output: { high: '12:04' } }, 'Here it is.', { output: { high: '12:04' } }],
  ['from the text when it is large', { outputCharacters: 20_000 }, '{"high": "12:04"}', { output: { high: '12:04' } }],
  ['not at all when the answer may be any text', {}, '{"high": "12:04"}', {}],
])('the outcome has the value of an answer: %s', (_what, data, reply, output) => {
  const outcome = createRunOutcome('conv_1');
  outcome.add(event('turn.finished', { outcome: 'finished', ...data }));
  expect(outcome.get(reply)).toEqual(expect.objectContaining({ reply, ...output }));
  expect('output' in outcome.get(reply)).toBe('output' in output);
});

test.each([
  ['turn.finished', { outcome: 'failed', message: 'no key' }, 'failed', 'no key'],
  ['turn.finished', { outcome: 'interrupted' }, 'failed', undefined],
  ['tool.approval-requested', { callId: 'a', why: 'rule 1' }, 'awaiting-approval', 'rule 1'],
  ['conversation.paused', { by: 'operator', note: 'lunch' }, 'paused', 'lunch'],
  ['conversation.closed', {}, 'closed', undefined],
] as const)('%s %j ends a run as %s', (type, data, expected, message) => {
  const outcome = createRunOutcome('conv_1');
  expect(outcome.add(event(type, data))).toBe(true);
  expect(outcome.get('')).toMatchObject({ outcome: expected });
  expect(outcome.get('').message).toBe(message);
});
