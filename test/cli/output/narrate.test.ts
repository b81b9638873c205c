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

test('a sandbox that waits for memory says of which host, without what a terminal would obey', () => {
  const data = { neededMb: 1024, host: 'big\u001B[2J', promisedMb: 2048, allowedMb: 2500, ahead: 1 };
  const text = '… the sandbox waits for 1024 MB of memory: host big\\u001b[2J has promised 2048 of 2500 MB, 1 waits longer';
  expect(createNarration()({ ...event(data), type: 'sandbox.waiting' } as ConversationEvent)).toEqual([{ kind: 'note', text }]);
});

test('a turn that waits says for what, without what a terminal would obey', () => {
  const waiting = (data: object) => createNarration()({ ...event(data), type: 'turn.waiting' } as ConversationEvent);
  const line = (text: string) => [{ kind: 'note', text: `… the turn waits for a free place: ${text}` }];
  expect(waiting({ limit: 'tenant', name: 'acme', running: 3, allowed: 3 })).toEqual(line('3 of 3 running turns of tenant acme'));
  expect(waiting({ limit: 'agent', name: 'fixer', running: 5, allowed: 2 })).toEqual(line('5 of 2 running turns of agent fixer'));
  expect(waiting({ limit: 'installation', running: 9, allowed: 9 })).toEqual(line('9 of 9 running turns of the installation'));
  expect(waiting({ limit: 'tenant', name: '\u001B[2J', running: 1, allowed: 1 })).toEqual(line('1 of 1 running turns of tenant \\u001b[2J'));
});

test('output that two workers have told is shown once', () => {
  const narrate = createNarration();
  const output = (offset: number, text: string) =>
    narrate({ ...event({ callId: 'call_1', stream: 'stdout', offset, bytes: text.length, text }), type: 'tool.output' } as ConversationEvent);
  const shown = [output(0, 'one\n'), output(4, 'two\n'), output(0, 'one\ntwo\n'), output(8, 'three\n')].flat();
  expect(shown.map(({ text }) => text)).toEqual(['  │ one', '  │ two', '  │ three']);
});
