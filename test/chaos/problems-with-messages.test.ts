import { problemsWithMessages, type Message } from '../../scripts/chaos/webhooks/problems-with-messages.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';

const eventOf = (conversationId: string, seq: number, type: string, data: object = {}) =>
  ({ conversationId, seq, type, at: '', data }) as unknown as ConversationEvent;
const LOG = [
  eventOf('a', 1, 'turn.started'),
  eventOf('a', 2, 'text.delta', { text: 'H' }),
  eventOf('a', 3, 'turn.finished', { outcome: 'finished' }),
  eventOf('b', 1, 'turn.started'),
];
const sentOf = (...events: ConversationEvent[]): Message[] => events.map((event) => ({ id: `${event.conversationId}/${event.seq}`, event }));
const [started, , finished, other] = LOG as [ConversationEvent, ConversationEvent, ConversationEvent, ConversationEvent];

test('each event but pieces is sent, those of a conversation in their order, whatever comes between and again', () => {
  expect(problemsWithMessages(sentOf(started, other, started, finished), LOG)).toEqual([]);
});

test('what is missing is lost', () => {
  expect(problemsWithMessages(sentOf(other, finished), LOG)).toEqual([{ rule: 'lost', what: 'a webhook was not sent turn.started (event 1 of a)' }]);
});

test('another order, another content, an event that is not in the log, and one id for two events are wrong', () => {
  const found = (...sent: Message[]) => problemsWithMessages(sent, LOG).map(({ rule, what }) => `${rule}: ${what}`);
  expect(found(...sentOf(finished, started, other))).toEqual([
    expect.stringMatching(/^reported: message 1 of a webhook about a is .*"seq":3.*, and the log has .*"seq":1/),
  ]);
  expect(found(...sentOf(started, eventOf('a', 3, 'turn.finished', { outcome: 'failed' }), other))).toEqual([
    expect.stringMatching(/^reported: message 2 .*failed.*finished/),
  ]);
  expect(found(...sentOf(started, finished, other, eventOf('b', 2, 'turn.finished')))).toEqual([
    expect.stringMatching(/^reported: message 2 .* and the log has nothing$/),
  ]);
  const [first, second] = sentOf(started, finished) as [Message, Message];
  expect(found(first, { ...second, id: first.id }, second, ...sentOf(other))).toEqual([
    'reported: the messages "a/1" of a webhook are turn.started (event 1 of a) and turn.finished (event 3 of a)',
  ]);
});
