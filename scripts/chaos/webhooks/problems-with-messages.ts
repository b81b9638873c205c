import type { ConversationEvent } from '../../../src/contracts/events.ts';
import type { Problem } from '../verdict.ts';

/** A message of a webhook that was taken. */
export interface Message {
  /** The same in each repetition. */
  id: string;
  event: ConversationEvent;
}

/** Not sent to a webhook that does not name them. */
const PIECES: ReadonlySet<ConversationEvent['type']> = new Set(['text.delta', 'reasoning.delta', 'tool.output']);

/** Each event that is logged is sent as it is, those of a conversation in the order of its log, and each under one id. */
export function problemsWithMessages(taken: readonly Message[], logged: readonly ConversationEvent[]): Problem[] {
  const first = new Map<string, ConversationEvent>();
  const problems: Problem[] = [];
  for (const { id, event } of taken) {
    const before = first.get(id);
    if (before === undefined) first.set(id, event);
    else if (nameOf(before) !== nameOf(event))
      problems.push({ rule: 'reported', what: `the messages "${id}" of a webhook are ${nameOf(before)} and ${nameOf(event)}` });
  }
  const sent = byConversation([...first.values()]);
  const wanted = byConversation(logged.filter(({ type }) => !PIECES.has(type)));
  for (const id of new Set([...sent.keys(), ...wanted.keys()])) problems.push(...problemsOf(id, sent.get(id) ?? [], wanted.get(id) ?? []));
  return problems;
}

function byConversation(events: ConversationEvent[]): Map<string, ConversationEvent[]> {
  const groups = new Map<string, ConversationEvent[]>();
  for (const event of events) groups.set(event.conversationId, [...(groups.get(event.conversationId) ?? []), event]);
  return groups;
}

function problemsOf(id: string, sent: ConversationEvent[], wanted: ConversationEvent[]): Problem[] {
  const numbers = new Set(sent.map(({ seq }) => seq));
  const lost = wanted.filter(({ seq }) => !numbers.has(seq)).map(nameOf);
  if (lost.length > 0) return [{ rule: 'lost', what: `a webhook was not sent ${lost.join(', ')}` }];
  const differs = sent.findIndex((event, index) => !isSame(event, wanted[index]));
  if (differs === -1) return [];
  return [
    { rule: 'reported', what: `message ${differs + 1} of a webhook about ${id} is ${textOf(sent[differs])}, and the log has ${textOf(wanted[differs])}` },
  ];
}

function isSame(sent: ConversationEvent, wanted: ConversationEvent | undefined): boolean {
  return wanted !== undefined && sent.seq === wanted.seq && sent.type === wanted.type && textOf(sent.data) === textOf(wanted.data);
}

const nameOf = ({ conversationId, seq, type }: ConversationEvent) => `${type} (event ${seq} of ${conversationId})`;
const textOf = (value: unknown) => JSON.stringify(value) ?? 'nothing';
