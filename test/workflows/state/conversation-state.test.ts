import {
  carryConversation,
  closeConversation,
  finishTurn,
  judgeMessage,
  openConversation,
  startTurn,
  takeMessage,
  takeSteers,
  takeWake,
} from '../../../src/workflows/state/conversation-state.ts';
import { statusOf } from '../../../src/workflows/state/conversation-status.ts';
import { wishPause } from '../../../src/workflows/state/pause-state.ts';
import { toolCall } from '../answers.ts';
import { input } from './conversation-input.ts';

test('a carried conversation does not take its first message again', () => {
  const firstMessage = { messageId: 'msg_1', turnId: 'turn_1' };
  const data = openConversation({ ...input, firstMessage });
  startTurn(data, 0);
  finishTurn(data, 5, () => 'turn_2');
  expect(openConversation({ ...input, firstMessage, carried: carryConversation(data) }).queue).toEqual([]);
});

test('the wish of a note for a turn is carried over, counts once for each call, and is met by any step', () => {
  const data = openConversation(input);
  takeWake(data, 'call_1', 'turn_1');
  takeWake(data, 'call_1', 'turn_2');
  expect(statusOf(data, 0).queued).toBe(1);
  expect(judgeMessage(data, { messageId: 'm', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_1' });
  const next = openConversation({ ...input, carried: carryConversation(data) });
  takeMessage(next, { messageId: 'm' }, 'turn_m');
  expect(startTurn(next, 0)).toMatchObject({ turnId: 'turn_m', message: { messageId: 'm' } });
  takeSteers(next);
  takeWake(next, 'call_1', 'turn_3');
  finishTurn(next, 0, () => 'turn_4');
  expect(startTurn(next, 0)).toBeUndefined();
});

describe('messages', () => {
  test('an interrupting message ends the turn and goes before those that wait, behind other interrupting ones', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    startTurn(data, 0);
    takeMessage(data, { messageId: 'b' }, 'turn_b');
    takeMessage(data, { messageId: 'c', whenBusy: 'interrupt' }, 'turn_c');
    takeMessage(data, { messageId: 'd', whenBusy: 'interrupt' }, 'turn_d');
    expect(data.turn?.ending).toBe('interrupted');
    expect(data.queue.map(({ messageId }) => messageId)).toEqual(['c', 'd', 'b']);
  });

  test('a steering message belongs to the running turn, and to a new one when none runs', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    startTurn(data, 0);
    expect(takeMessage(data, { messageId: 'b', whenBusy: 'steer' }, 'turn_b')).toBe('turn_a');
    finishTurn(data, 1, () => 'turn_late');
    expect(data.queue).toEqual([{ messageId: 'b', turnId: 'turn_late' }]);
    expect(judgeMessage(data, { messageId: 'b' })).toEqual({ outcome: 'duplicate', turnId: 'turn_late' });
  });

  test('a message is refused when the agent is busy and the sender asked for that', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    expect(judgeMessage(data, { messageId: 'b', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_a' });
    startTurn(data, 0);
    expect(judgeMessage(data, { messageId: 'b', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_a' });
    finishTurn(data, 1, () => 'x');
    expect(judgeMessage(data, { messageId: 'b', whenBusy: 'reject' })).toEqual({ outcome: 'accept' });
  });

  test('two hundred message ids are remembered', () => {
    const data = openConversation(input);
    for (let n = 0; n < 250; n++) {
      takeMessage(data, { messageId: `m${n}` }, `t${n}`);
      startTurn(data, n);
      finishTurn(data, n, () => 'x');
    }
    expect(judgeMessage(data, { messageId: 'm50' })).toEqual({ outcome: 'duplicate', turnId: 't50' });
    expect(data.recentMessages).toHaveLength(200);
  });

  test('a closing conversation takes none, and reports the turns of those it drops', () => {
    const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
    closeConversation(data);
    expect(judgeMessage(data, { messageId: 'b' })).toEqual({ outcome: 'closed' });
    expect(data.outbox).toEqual([{ type: 'turn.finished', turnId: 'turn_a', data: { outcome: 'cancelled' } }]);
    expect(startTurn(data, 0)).toBeUndefined();
  });
});

test('a message that interrupts goes behind the earlier ones that wait, also in the next run', () => {
  const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
  startTurn(data, 0);
  for (const messageId of ['b', 'c', 'd']) takeMessage(data, { messageId, whenBusy: messageId === 'd' ? 'queue' : 'interrupt' }, `turn_${messageId}`);
  finishTurn(data, 5, () => 'turn_x');
  const next = openConversation({ ...input, carried: carryConversation(data) });
  startTurn(next, 10);
  takeMessage(next, { messageId: 'e', whenBusy: 'interrupt' }, 'turn_e');
  expect(next.queue.map(({ messageId }) => messageId)).toEqual(['c', 'e', 'd']);
});

test('the next run of a turn has what the turn needs, and nothing that it has done with', () => {
  const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a', text: 'long' } });
  const turn = startTurn(data, 0)!;
  const call = toolCall();
  const asked = { inputTokens: 1, outputTokens: 1 };
  turn.steps = 3;
  turn.moved = true;
  turn.asked = { [call.callId]: asked, earlier: asked };
  turn.openStep = { stepId: 'step_3', calls: [call], left: [call], begun: [call.callId], succeeded: {} };
  takeMessage(data, { messageId: 'b', whenBusy: 'steer', text: 'and' }, 'turn_b');
  wishPause(data, { mode: 'step' });
  const next = openConversation({ ...input, carried: carryConversation(data) });
  expect(next.turn).toEqual({
    ...turn,
    message: { messageId: 'a', turnId: 'turn_a' },
    steers: [{ messageId: 'b', turnId: 'turn_a', text: 'and' }],
    asked: { [call.callId]: asked },
  });
  // It waits in the sandbox, which is not stopped then.
  expect(next.detachedCalls).toBe(1);
  expect(next.pauseWish).toEqual(data.pauseWish);
  expect(judgeMessage(next, { messageId: 'c', whenBusy: 'reject' })).toEqual({ outcome: 'busy', turnId: 'turn_a' });
});
