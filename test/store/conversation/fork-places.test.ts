import { array, assert, boolean, constant, nat, oneof, property, record } from 'fast-check';
import { placeOf, type HiddenAt, type Outline, type PlaceRequest } from '../../../src/store/conversation/fork-places.ts';

/** What happens in a generated conversation. A step may be left in the middle by a rewind to an earlier place, as after a crash. */
type Act = { kind: 'turn'; steps: number[]; unfinished: boolean; notes: boolean } | { kind: 'rewind'; to: number };

const acts = array(
  oneof(
    record({ kind: constant('turn' as const), steps: array(nat(3), { maxLength: 4 }), unfinished: boolean(), notes: boolean() }),
    record({ kind: constant('rewind' as const), to: nat(30) }),
  ),
  { maxLength: 12 },
);

interface Made {
  entries: Outline[];
  rewinds: HiddenAt[];
  /** Where turns and steps ended, and what was shown then. */
  ends: Map<string, { seq: number; shown: number[] }>;
  /** Between two turns. */
  places: { seq: number; hidden: number[] }[];
  runningTurn?: string;
}
const hiddenOf = ({ entries }: Made) => entries.filter(({ rewound }) => rewound).map(({ seq }) => seq);
const shownOf = ({ entries }: Made) => entries.filter(({ rewound }) => !rewound).map(({ seq }) => seq);

/** A transcript and its rewinds as the store would have them. */
function conversationOf(acted: Act[]): Made {
  const made: Made = { entries: [], rewinds: [], ends: new Map(), places: [{ seq: 0, hidden: [] }] };
  for (const [number, act] of acted.entries()) {
    if (made.runningTurn !== undefined) break;
    if (act.kind === 'rewind') rewind(made, act.to);
    else runTurn(made, number, act);
  }
  return made;
}

function rewind(made: Made, to: number): void {
  const place = made.places[to % made.places.length] ?? { seq: 0, hidden: [] };
  made.rewinds.push({ afterSeq: made.entries.length, hidden: hiddenOf(made) });
  for (const entry of made.entries) entry.rewound = entry.seq > place.seq || place.hidden.includes(entry.seq);
}

function runTurn(made: Made, number: number, { steps, unfinished, notes }: Act & { kind: 'turn' }): void {
  const turnId = `turn_${number}`;
  const add = (entry: Omit<Outline, 'seq' | 'rewound' | 'turnId'>) => made.entries.push({ ...entry, turnId, seq: made.entries.length + 1, rewound: false });
  const endOf = (id: string) => made.ends.set(id, { seq: made.entries.length, shown: shownOf(made) });
  add({ role: 'user' });
  if (notes) add({ role: 'note' });
  for (const [index, calls] of steps.entries()) {
    const stepId = `step_${number}_${index}`;
    const ids = Array.from({ length: calls }, (_, call) => `call_${number}_${index}_${call}`);
    add({ stepId, role: 'assistant', calls: ids });
    const isLeft = unfinished && index === steps.length - 1 && calls > 0;
    for (const callId of isLeft ? ids.slice(1) : ids) add({ stepId, role: 'tool', callId });
    if (!isLeft) endOf(stepId);
  }
  if (unfinished) {
    made.runningTurn = turnId;
    return;
  }
  endOf(turnId);
  made.places.push({ seq: made.entries.length, hidden: hiddenOf(made) });
}

function isWhole(entries: Outline[], { transcriptSeq, hidden }: { transcriptSeq: number; hidden: number[] }): boolean {
  const shown = entries.filter(({ seq }) => seq <= transcriptSeq && !hidden.includes(seq));
  const calls = shown.flatMap(({ calls: asked = [] }) => asked).toSorted();
  const results = shown.flatMap(({ callId }) => callId ?? []).toSorted();
  return JSON.stringify(calls) === JSON.stringify(results);
}

test('wherever a fork begins, every call has exactly one result, and the fork shows what was shown then', () => {
  assert(
    property(acts, (acted) => {
      const { ends, places: _, ...conversation } = conversationOf(acted);
      const request: PlaceRequest = { conversationId: 'conv_1', ...conversation };
      const newest = placeOf(request);
      expect(isWhole(conversation.entries, newest)).toBe(true);
      for (const [at, { seq, shown }] of ends) {
        const place = placeOf({ ...request, at });
        expect(place.transcriptSeq).toBe(seq);
        expect(isWhole(conversation.entries, place)).toBe(true);
        expect(conversation.entries.map((entry) => entry.seq).filter((one) => one <= seq && !place.hidden.includes(one))).toEqual(shown);
      }
      const ids = new Set(conversation.entries.flatMap(({ turnId, stepId }) => [turnId, ...(stepId === undefined ? [] : [stepId])]));
      for (const at of ids) {
        if (ends.has(at)) continue;
        try {
          expect(isWhole(conversation.entries, placeOf({ ...request, at }))).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: 'FORK_REFUSED' });
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('the newest place is the end of the newest finished step, or of the newest finished turn', () => {
  const answer = (seq: number, turnId: string, calls: string[] = []): Outline => ({
    seq,
    turnId,
    stepId: `step_${seq}`,
    role: 'assistant',
    calls,
    rewound: false,
  });
  const user = (seq: number, turnId: string): Outline => ({ seq, turnId, role: 'user', rewound: false });
  const result = (seq: number, turnId: string, callId: string): Outline => ({ seq, turnId, stepId: `step_${seq}`, role: 'tool', callId, rewound: false });
  const entries = [user(1, 't1'), answer(2, 't1'), user(3, 't2'), answer(4, 't2', ['c1', 'c2']), result(5, 't2', 'c1')];
  const place = (given: Partial<PlaceRequest>) => placeOf({ conversationId: 'conv_1', entries, rewinds: [], ...given }).transcriptSeq;
  expect(place({ runningTurn: 't2' })).toBe(2);
  expect(place({ entries: entries.slice(0, 3), runningTurn: 't2' })).toBe(2);
  expect(place({ entries: entries.slice(0, 3) })).toBe(3);
  expect(place({ entries: [...entries, result(6, 't2', 'c2')], runningTurn: 't2' })).toBe(6);
  expect(place({ entries: [] })).toBe(0);
  expect(() => place({ at: 't9' })).toThrow('no turn, step or checkpoint t9');
  expect(() => place({ at: 't2', runningTurn: 't2' })).toThrow('has not ended');
  expect(() => place({ at: 't2' })).toThrow('no result yet (c2)');
});
