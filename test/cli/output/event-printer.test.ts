import type { Cli } from '../../../src/cli/output/cli.ts';
import { createEventPrinter } from '../../../src/cli/output/event-printer.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';

function printed(events: { type: string; data: object; attempt?: number }[]): string {
  let text = '';
  const print = createEventPrinter({ out: { print: (more: string) => void (text += more) } } as unknown as Cli);
  for (const event of events) print({ seq: 1, at: '2027-01-31T00:00:00.000Z', conversationId: 'conv_1', ...event } as unknown as ConversationEvent);
  return text;
}

const started = (attempt: number) => ({ type: 'step.started', data: { step: 0, attempt } });
const delta = (text: string, attempt: number) => ({ type: 'text.delta', data: { text }, attempt });

test('a model that does not answer is no silence: each further attempt is told', () => {
  expect(printed([started(1), started(2), started(3), delta('Hello.', 3)])).toBe(
    '(the model is asked again, attempt 2; if this goes on, see the log of the workers)\n' +
      '(the model is asked again, attempt 3; if this goes on, see the log of the workers)\nHello.',
  );
});

test('an answer that broke off is said to be repeated, once, and not in the next step', () => {
  const finished = { type: 'step.finished', data: { usage: {} } };
  expect(printed([started(1), delta('Hel', 1), started(2), delta('Hello.', 2), finished, started(1), delta(' And', 1)])).toBe(
    'Hel\n(the answer of the model was interrupted; it is repeated)\nHello. And',
  );
});

test('what an attempt says that was given up is not shown beside the next one', () => {
  const late = [delta('Lat', 1), { ...started(1), attempt: 1 }, delta('e.', 1)];
  expect(printed([started(1), { ...started(2), attempt: 2 }, delta('Hel', 2), ...late, delta('lo.', 2)])).toContain('\nHello.');
});
