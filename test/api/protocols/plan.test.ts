import { uiMessageChunkSchema } from 'ai';
import { mapEvent } from '../../../src/api/protocols/ui-stream/map-event.ts';
import { beginMessage } from '../../../src/api/protocols/ui-stream/ui-state.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';

const event = (seq: number, type: string, data: object) =>
  ({ seq, at: '2027-01-31T00:00:00.000Z', conversationId: 'conv_1', turnId: 'turn_1', type, data }) as unknown as ConversationEvent;

test('a page of the AI SDK gets each plan as one part, which the next one replaces', async () => {
  const items = [{ text: 'Look', status: 'done' }];
  let state = beginMessage('conv_1', 'turn_1');
  const parts = [];
  for (const each of [
    event(1, 'turn.started', {}),
    event(2, 'plan.changed', { callId: 'call_1', items }),
    event(3, 'plan.changed', { callId: 'call_2', items: [] }),
  ]) {
    const [next, more] = mapEvent(state, each);
    state = next;
    parts.push(...more);
  }
  expect(parts).toEqual([
    { type: 'data-plan', id: 'plan', data: { items } },
    { type: 'data-plan', id: 'plan', data: { items: [] } },
  ]);
  const schema = uiMessageChunkSchema();
  for (const part of parts) expect(await schema.validate?.(part)).toMatchObject({ success: true });
});
