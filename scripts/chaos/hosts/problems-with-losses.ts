import { linesShownLast, problemsOf, type Ended } from '../check-conversation.ts';
import type { Problem } from '../verdict.ts';

/**
 * Everything about a conversation that breaks a rule, where hosts may have been lost with the files of its sandbox: then calls of that time may be unknown, and
 * what they and those before have written may be gone. Its calls run one after the other, each leaves the next line of the kind's marks, and the last one shows them.
 */
export function problemsWithLosses(ended: Ended): Problem[] {
  const lostAt = ended.events.findLast(({ type, data }) => type === 'sandbox.changed' && data.tier === 'lost')?.seq;
  if (lostAt === undefined) return problemsOf(ended);
  const unknown = ended.calls.filter(({ state }) => state === 'unknown').map(({ callId }) => callId);
  const others = problemsOf({ ...ended, kind: { ...ended.kind, marks: [] }, entries: ended.entries.filter(({ entry }) => entry.role !== 'note') });
  return [...others.filter(({ rule, what }) => rule !== 'lost' || !unknown.some((callId) => what.includes(callId))), ...ofMarks(ended, lostAt)];
}

function ofMarks(ended: Ended, lostAt: number): Problem[] {
  const lines = linesShownLast(ended.entries);
  // The call that shows them was itself under way on the host that was lost.
  if (lines === undefined) return [];
  const order = ended.events.flatMap(({ type, data }) => (type === 'tool.requested' ? [data.callId] : []));
  const finishedAt = new Map(ended.events.flatMap(({ type, data, seq }) => (type === 'tool.finished' ? [[data.callId, seq] as const] : [])));
  const strange = lines.filter((line) => !ended.kind.marks.includes(line)).map((line): Problem => ({ rule: 'doubled', what: `the line "${line}"` }));
  const wrong = ended.kind.marks.flatMap((mark, index): Problem[] => {
    const count = lines.filter((line) => line === mark).length;
    const callId = order[index] ?? '';
    const state = ended.calls.find((call) => call.callId === callId)?.state;
    const isAfter = (finishedAt.get(callId) ?? 0) > lostAt;
    if (count > 1) return [{ rule: 'doubled', what: `the line "${mark}" of ${JSON.stringify(lines)}` }];
    if (count === 0 && state === 'finished' && isAfter)
      return [{ rule: 'lost', what: `the line "${mark}", which was written after the loss, of ${JSON.stringify(lines)}` }];
    return [];
  });
  return [...strange, ...wrong];
}
