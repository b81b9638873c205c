import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { StoredEntry } from '../../src/contracts/transcript.ts';
import { ONCE, type LedgerCall } from './check-conversation.ts';
import type { Problem } from './verdict.ts';

/** A conversation that was closed, perhaps in the middle of a turn. */
export interface Closed {
  entries: StoredEntry[];
  events: ConversationEvent[];
  calls: LedgerCall[];
}

/** What breaks a rule where turns were ended at any moment: whatever has begun has one end, in the ledger, the transcript and the events. */
export function problemsWithEndings({ entries, events, calls }: Closed, counted: (callId: string) => number): Problem[] {
  const open = calls.filter(({ state }) => state === 'proposed' || state === 'running');
  const asked = entries.flatMap(({ entry }) =>
    entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])) : [],
  );
  const results = entries.flatMap(({ entry }) => (entry.role === 'tool' ? [entry.callId] : []));
  const idsOf = (...types: ConversationEvent['type'][]) =>
    events.flatMap(({ type, data }) => (types.includes(type) && 'callId' in data && typeof data.callId === 'string' ? [data.callId] : []));
  const turns = (wanted: ConversationEvent['type']) => events.flatMap(({ type, turnId = '' }) => (type === wanted ? [turnId] : []));
  return [
    ...open.map(({ callId, tool, state }): Problem => ({ rule: 'result', what: `${tool} (${callId}) is ${state} in the ledger` })),
    ...unlessOneEach(asked, results, 'results in the transcript'),
    ...unlessOneEach(idsOf('tool.requested'), idsOf('tool.finished', 'tool.unknown'), 'ends in the events'),
    ...unlessOneEach(idsOf('tool.started'), idsOf('tool.finished', 'tool.unknown'), 'ends in the events', 'begun'),
    ...unlessOneEach(idsOf('agent.started'), idsOf('agent.ended'), 'ends of its sub-agent in the events'),
    ...unlessOneEach(turns('turn.started'), turns('turn.finished'), 'ends in the events', 'begun'),
    ...calls
      .filter(({ callId, tool }) => tool === ONCE && counted(callId) > 1)
      .map(({ callId }): Problem => ({ rule: 'doubled', what: `${callId} was counted ${counted(callId)} times` })),
  ];
}

/** @param only `begun`: ends of what had not begun are not counted */
function unlessOneEach(begun: string[], ended: string[], what: string, only: 'all' | 'begun' = 'all'): Problem[] {
  const ids = new Set(only === 'all' ? [...begun, ...ended] : begun);
  const count = (ids: string[], id: string) => ids.filter((one) => one === id).length;
  return [...ids]
    .filter((id) => count(begun, id) !== 1 || count(ended, id) !== 1)
    .map((id) => ({ rule: 'result', what: `${id} has begun ${count(begun, id)} times and has ${count(ended, id)} ${what}` }));
}
