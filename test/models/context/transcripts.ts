import { array, boolean, integer, oneof, record } from 'fast-check';
import type { Compaction, LeftOut, StoredEntry, TranscriptEntry } from '../../../src/contracts/transcript.ts';

/** What happens in a step: texts of results, whether a note comes between, and whether its results come late, after the next message. */
interface Step {
  results: number[];
  argument: number;
  noted: boolean;
  late: boolean;
}
interface Turn {
  message: number;
  steps: Step[];
}

const length = oneof(integer({ min: 0, max: 200 }), integer({ min: 500, max: 6_000 }));
const step = record({ results: array(length, { maxLength: 3 }), argument: length, noted: boolean(), late: boolean() });
const turn = record({ message: integer({ min: 1, max: 300 }), steps: array(step, { maxLength: 6 }) });

/** Transcripts as they are at a model call: each call has one result, in its step or, of a turn that was interrupted, later. */
export const transcripts = array(turn, { minLength: 1, maxLength: 6 }).map(transcriptOf);

export function transcriptOf(turns: Turn[]): StoredEntry[] {
  const stored: StoredEntry[] = [];
  const add = (turnId: string, entry: TranscriptEntry) => stored.push({ seq: stored.length + 1, turnId, at: '2027-01-31T09:00:00.000Z', entry });
  let late: TranscriptEntry[] = [];
  for (const [t, { message, steps }] of turns.entries()) {
    const turnId = `turn_${t}`;
    add(turnId, { role: 'user', content: [{ type: 'text', text: `message ${t} ${'m'.repeat(message)}` }] });
    for (const entry of late.splice(0)) add(turnId, entry);
    for (const [s, { results, argument, noted, late: isLate }] of steps.entries()) {
      const calls = results.map((_, index) => `call_${t}_${s}_${index}`);
      const parts = calls.map((callId) => ({ type: 'tool-call' as const, callId, tool: 'shell:run', arguments: { command: `run ${'a'.repeat(argument)}` } }));
      const usage = { inputTokens: 100 * (stored.length + 1), outputTokens: 10 };
      add(turnId, { role: 'assistant', parts: [{ type: 'text', text: `step ${t}.${s}` }, ...parts], usage });
      if (noted) add(turnId, { role: 'note', text: `note ${t}.${s}` });
      const answers = calls.map((callId, index): TranscriptEntry => {
        return {
          role: 'tool',
          callId,
          tool: 'shell:run',
          content: [{ type: 'text', text: `result ${callId} ${'r'.repeat(results[index] ?? 0)}` }],
          isError: false,
        };
      });
      if (isLate && s === steps.length - 1 && t < turns.length - 1) late = answers;
      else for (const entry of answers) add(turnId, entry);
    }
  }
  return stored;
}

export function compaction(number: number, afterSeq: number, leftOut: LeftOut, undoneAfterSeq?: number): Compaction {
  const undone = undoneAfterSeq === undefined ? {} : { undoneAfterSeq };
  return { compactionId: `cmp_${number}`, at: '2027-01-31T10:00:00.000Z', afterSeq, ...undone, reason: 'full', leftOut, tokensBefore: 2, tokensAfter: 1 };
}
