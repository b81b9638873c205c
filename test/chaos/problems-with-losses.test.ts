import type { Ended } from '../../scripts/chaos/check-conversation.ts';
import { problemsWithLosses } from '../../scripts/chaos/hosts/problems-with-losses.ts';
import type { Kind } from '../../scripts/chaos/kinds/kinds.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { TranscriptEntry } from '../../src/contracts/transcript.ts';

const IDS = ['c1', 'c2', 'c3', 'show'] as const;
const run = { calls: [{ call: 'shell:run', with: {} }] };
const KIND: Kind = { agent: {}, turns: [{ message: 'Work.', steps: [run, run, run, run, { say: 'Done.' }] }], marks: ['one', 'two', 'three'] };
const UNKNOWN = 'It is not known whether this call took effect.';

/** A conversation of four calls, whose last one shows `lines`; its host was lost in the second one. */
function ended({ lines, lost = true, failed }: { lines: string[] | undefined; lost?: boolean; failed?: string }): Ended {
  const shown = lines ? JSON.stringify({ exitCode: 0, stdout: lines.map((line) => `${line}\n`).join('') }) : UNKNOWN;
  const isUnknown = (id: string) => lost && (id === 'c2' || (id === 'show' && lines === undefined));
  const entries = IDS.flatMap((callId): TranscriptEntry[] => [
    { role: 'assistant', parts: [{ type: 'tool-call', callId, tool: 'shell:run', arguments: {} }] },
    {
      role: 'tool',
      callId,
      tool: 'shell:run',
      content: [{ type: 'text', text: callId === 'show' ? shown : isUnknown(callId) ? UNKNOWN : 'done' }],
      isError: isUnknown(callId) || callId === failed,
    },
  ]);
  const note: TranscriptEntry = { role: 'note', text: 'The sandbox was started anew.' };
  const all: TranscriptEntry[] = [
    { role: 'user', content: [{ type: 'text', text: 'Work.' }] },
    ...entries.slice(0, 4),
    ...(lost ? [note] : []),
    ...entries.slice(4),
    { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] },
  ];
  const told = (callId: string): [string, object][] => [
    ['tool.requested', { callId }],
    ['tool.started', { callId }],
    ...(isUnknown(callId) ? ([['sandbox.changed', { tier: 'lost' }]] as [string, object][]) : []),
    [isUnknown(callId) ? 'tool.unknown' : 'tool.finished', { callId }],
  ];
  const events = [...IDS.flatMap(told), ['turn.finished', { outcome: 'finished' }] as const].map(
    ([type, data], index) => ({ seq: index + 1, at: '', conversationId: 'x', type, data }) as unknown as ConversationEvent,
  );
  return {
    kind: KIND,
    entries: all.map((entry, index) => ({ seq: index + 1, turnId: 'turn_1', at: '', entry })),
    events,
    calls: IDS.map((callId) => ({ callId, tool: 'shell:run', state: isUnknown(callId) ? 'unknown' : 'finished' })),
    counted: () => 0,
    isServed: () => true,
  };
}

test.each([[['three']], [['one', 'three']], [['one', 'three', 'two']]])('what was written before the host was lost may be gone or there: %j', (lines) => {
  expect(problemsWithLosses(ended({ lines }))).toEqual([]);
});

test('what is written after the loss is there, nothing is there twice, and nothing that no call has written', () => {
  const rulesOf = (...lines: string[]) => problemsWithLosses(ended({ lines })).map(({ rule }) => rule);
  expect(problemsWithLosses(ended({ lines: ['one', 'two'] }))).toEqual([
    { rule: 'lost', what: 'the line "three", which was written after the loss, of ["one","two"]' },
  ]);
  expect(rulesOf('one', 'one', 'three')).toEqual(['doubled']);
  expect(rulesOf('three', 'three')).toEqual(['doubled']);
  expect(rulesOf('three', 'strange')).toEqual(['doubled']);
});

test('a call that fails is a problem, also where another one is unknown; without a loss all calls have to have taken effect', () => {
  expect(problemsWithLosses(ended({ lines: ['three'], failed: 'c3' }))).toEqual([{ rule: 'lost', what: 'shell:run (c3) failed: done' }]);
  expect(problemsWithLosses(ended({ lines: ['one', 'two', 'three'], lost: false }))).toEqual([]);
  expect(problemsWithLosses(ended({ lines: ['three'], lost: false })).map(({ rule }) => rule)).toEqual(['lost', 'lost']);
});
