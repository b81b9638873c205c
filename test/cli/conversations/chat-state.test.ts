import { createChatState } from '../../../src/cli/conversations/chat-state.ts';
import type { ConversationEvent, EventType } from '../../../src/contracts/events.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';

function follow(state: ReturnType<typeof createChatState>, ...events: [EventType, JsonObject?][]): void {
  for (const [type, data = {}] of events) state.follow({ seq: 1, at: '', conversationId: 'conv_1', turnId: 'turn_1', type, data } as ConversationEvent);
}

test('a person is asked for a message only when no turn runs and none that was sent is unanswered', () => {
  const state = createChatState();
  expect(state.wanted()).toBe('message');
  state.sent('turn_1');
  expect(state.wanted()).toBe('nothing');
  follow(state, ['turn.started']);
  expect(state.wanted()).toBe('nothing');
  follow(state, ['turn.finished', { outcome: 'finished' }]);
  expect(state.wanted()).toBe('message');
  state.sent('turn_1');
  expect(state.wanted()).toBe('message');
});

test('an approval comes before everything, in the order asked, until it is answered', () => {
  const state = createChatState();
  follow(state, ['turn.started'], ['tool.approval-requested', { callId: 'a', hash: '1' }], ['tool.approval-requested', { callId: 'b', hash: '2' }]);
  expect(state.wanted()).toBe('approval');
  expect(state.nextApproval()).toEqual({ callId: 'a', hash: '1' });
  follow(state, ['tool.approval-resolved', { callId: 'a', answer: 'deny' }]);
  expect(state.nextApproval()).toEqual({ callId: 'b', hash: '2' });
  state.forget('b');
  expect(state.wanted()).toBe('nothing');
});

test('the end of the input is the end of the chat once the agent needs a person or is done', () => {
  const state = createChatState();
  expect(state.codeAtEndOfInput(false)).toBeUndefined();
  state.inputEnded = true;
  follow(state, ['turn.started']);
  expect(state.codeAtEndOfInput(false)).toBeUndefined();
  expect(state.codeAtEndOfInput(true)).toBe(0);
  follow(state, ['tool.approval-requested', { callId: 'a', hash: '1' }]);
  expect(state.codeAtEndOfInput(false)).toBe(3);
  follow(state, ['tool.approval-resolved', { callId: 'a', answer: 'allow' }], ['conversation.paused', { by: 'operator' }]);
  expect(state.codeAtEndOfInput(false)).toBe(4);
  follow(state, ['conversation.resumed'], ['turn.finished', { outcome: 'finished' }]);
  expect(state.codeAtEndOfInput(false)).toBe(0);
});
