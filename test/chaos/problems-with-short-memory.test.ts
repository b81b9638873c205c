import type { Ended } from '../../scripts/chaos/check-conversation.ts';
import type { Kind } from '../../scripts/chaos/kinds/kinds.ts';
import { problemsWithShortMemory } from '../../scripts/chaos/memory/problems-with-short-memory.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { TranscriptEntry } from '../../src/contracts/transcript.ts';

const swells = { command: ': swell; tail /dev/zero' };

/** A conversation of one call with its result. */
function ended(tool: string, input: { command?: string }, state: 'finished' | 'failed' | 'unknown', text: string): Ended {
  const kind: Kind = { agent: {}, turns: [{ message: 'Work.', steps: [{ calls: [{ call: tool, with: input }] }, { say: 'Done.' }] }], marks: [] };
  const all: TranscriptEntry[] = [
    { role: 'user', content: [{ type: 'text', text: 'Work.' }] },
    { role: 'assistant', parts: [{ type: 'tool-call', callId: 'c1', tool, arguments: input }] },
    { role: 'tool', callId: 'c1', tool, content: [{ type: 'text', text }], isError: state !== 'finished' },
    { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] },
  ];
  const told: [string, object][] = [
    ['tool.requested', { callId: 'c1' }],
    [state === 'unknown' ? 'tool.unknown' : 'tool.finished', { callId: 'c1' }],
    ['turn.finished', { outcome: 'finished' }],
  ];
  return {
    kind,
    entries: all.map((entry, index) => ({ seq: index + 1, turnId: 'turn_1', at: '', entry })),
    events: told.map(([type, data], index) => ({ seq: index + 1, at: '', conversationId: 'x', type, data }) as unknown as ConversationEvent),
    calls: [{ callId: 'c1', tool, state }],
    counted: () => 1,
    isServed: () => true,
  };
}

test('a call that takes all memory may end in any way, and its result says what it lacked', () => {
  const text = 'its process ended by SIGKILL (the sandbox has no memory left) and gave no result';
  for (const state of ['finished', 'failed', 'unknown'] as const) expect(problemsWithShortMemory(ended('shell:run', swells, state, text))).toEqual([]);
  expect(problemsWithShortMemory(ended('shell:run', swells, 'finished', '{"status":"gone"}'))).toEqual([
    { rule: 'told', what: 'c1 took all memory of its sandbox, and its result does not say so: {"status":"gone"}' },
  ]);
});

test('any other call takes effect', () => {
  expect(problemsWithShortMemory(ended('shell:run', { command: 'true' }, 'failed', 'no')).map(({ rule }) => rule)).toEqual(['lost', 'result']);
});

test('a call that may not be repeated may be unknown, and its result says why', () => {
  expect(problemsWithShortMemory(ended('chaos:once', {}, 'unknown', 'The worker that ran this call died or stopped answering'))).toEqual([]);
  expect(problemsWithShortMemory(ended('chaos:once', {}, 'unknown', 'It is not known.'))).toEqual([
    { rule: 'told', what: 'it is unknown whether c1 has taken effect, and its result does not say why: It is not known.' },
  ]);
});
