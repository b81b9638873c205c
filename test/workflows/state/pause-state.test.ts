import { openConversation, startTurn } from '../../../src/workflows/state/conversation-state.ts';
import { stateOf } from '../../../src/workflows/state/conversation-status.ts';
import { enterPause, resumeConversation, wishPause } from '../../../src/workflows/state/pause-state.ts';
import { input } from './conversation-input.ts';

test('a paused conversation starts no turn and says that it is paused', () => {
  const data = openConversation({ ...input, firstMessage: { messageId: 'a', turnId: 'turn_a' } });
  wishPause(data, { mode: 'now', note: 'look at this' });
  wishPause(data, { mode: 'step' });
  expect(data.pauseWish?.mode).toBe('now');
  enterPause(data, 0);
  expect(startTurn(data, 0)).toBeUndefined();
  expect(stateOf(data)).toBe('paused');
  resumeConversation(data, {});
  expect(startTurn(data, 0)?.turnId).toBe('turn_a');
});
