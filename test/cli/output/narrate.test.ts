import type { ConversationEvent } from '../../../src/contracts/events.ts';
import { createNarration } from '../../../src/cli/output/narrate.ts';

const event = (data: object) =>
  ({ seq: 1, at: '2027-01-31T00:00:00.000Z', conversationId: 'conv_1', type: 'tool.waiting', data }) as unknown as ConversationEvent;

test('a call that waits for a client is told, with its deadline and without what a terminal would obey', () => {
  const narrate = createNarration();
  expect(narrate(event({ callId: 'call_1', tool: 'client:open_file', deadline: '2027-01-31T00:10:00.000Z' }))).toEqual([
    { kind: 'note', text: '… client:open_file waits for a client (call_1), until 2027-01-31 00:10:00' },
  ]);
  const [told] = narrate(event({ callId: 'call_1', tool: 'client:\u001B[2J' }));
  expect(told?.text).not.toContain('\u001B');
});

test('a plan is told as a list of its steps, of which none begins another line', () => {
  const items = [
    { text: 'Look\n\u001B[2J', status: 'done' },
    { text: 'Repair', status: 'in_progress' },
  ];
  const told = createNarration()({ ...event({ callId: 'call_1', items }), type: 'plan.changed' } as ConversationEvent);
  expect(told).toEqual([{ kind: 'note', text: '☰ plan: 1 of 2 done\n  ✓ Look\\n\\u001b[2J\n  ▸ Repair' }]);
});
