import { carryConversation, openConversation } from '../../../src/workflows/state/conversation-state.ts';
import { knownRequest, noteRequest } from '../../../src/workflows/state/recent-requests.ts';
import { input } from './conversation-input.ts';

test('the newest hundred requests are carried to the next run; older ones count as new', () => {
  const data = openConversation(input);
  expect(carryConversation(data)).not.toHaveProperty('recentRequests');
  for (let index = 0; index < 120; index += 1) noteRequest(data, `req_${index}`, index === 119 ? { answer: 'allow' } : undefined);
  const next = openConversation({ ...input, carried: carryConversation(data) });
  expect([0, 19, 20, 119].map((index) => knownRequest(next, `req_${index}`))).toEqual([
    undefined,
    undefined,
    { requestId: 'req_20' },
    { requestId: 'req_119', result: { answer: 'allow' } },
  ]);
});

test('what is no id is not kept, and a known one is kept once', () => {
  const data = openConversation(input);
  for (const odd of [undefined, null, '', 1, {}, ['req'], 'x'.repeat(201)]) {
    noteRequest(data, odd);
    expect(knownRequest(data, odd)).toBeUndefined();
  }
  noteRequest(data, 'req_1', { answer: 'deny' });
  noteRequest(data, 'req_1', { answer: 'allow' });
  expect(data.recentRequests).toEqual([{ requestId: 'req_1', result: { answer: 'deny' } }]);
});
