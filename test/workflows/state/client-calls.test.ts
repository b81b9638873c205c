import { beginAttach, beginWait, closeClientCall, isAnswered, openClientCall, takeAnswer, waitingCalls } from '../../../src/workflows/state/client-calls.ts';
import { openConversation } from '../../../src/workflows/state/conversation-state.ts';
import { input } from './conversation-input.ts';

const call = { callId: 'call_1', tool: 'client:open_file' };

test('a call waits from the end of an attach to the next, and the status shows it then', () => {
  const data = openConversation(input);
  openClientCall(data, call);
  expect(waitingCalls(data)).toEqual([]);
  beginWait(data, 'call_1', 5000);
  expect(waitingCalls(data)).toEqual([{ ...call, expiresAtMs: 5000 }]);
  beginAttach(data, 'call_1');
  expect(waitingCalls(data)).toEqual([]);
  beginWait(data, 'call_1', undefined);
  closeClientCall(data, 'call_1');
  expect(data.clientCalls).toEqual([]);
});

test('an answer that comes before the call waits is not lost', () => {
  const data = openConversation(input);
  openClientCall(data, call);
  beginAttach(data, 'call_1');
  takeAnswer(data, 'call_1');
  beginWait(data, 'call_1', undefined);
  expect(isAnswered(data, 'call_1')).toBe(true);
  beginAttach(data, 'call_1');
  expect(isAnswered(data, 'call_1')).toBe(false);
});

test('the answer of a call that no client runs is ignored', () => {
  const data = openConversation(input);
  takeAnswer(data, 'call_2');
  expect(data.clientCalls).toEqual([]);
});
