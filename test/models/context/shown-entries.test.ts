import { array, assert, boolean, integer, property, record } from 'fast-check';
import type { Compaction, StoredEntry } from '../../../src/contracts/transcript.ts';
import { planCompaction, planCut } from '../../../src/models/context/plan-compaction.ts';
import { digest } from '../../../src/models/context/read-summary.ts';
import { leftOutBy } from '../../../src/models/context/left-out.ts';
import { shownEntries } from '../../../src/models/context/shown-entries.ts';
import { toMessages } from '../../../src/models/prompt.ts';
import { compaction, transcripts } from './transcripts.ts';

const RECALL = 'context__recall';
const TRAITS = { mediaInToolResults: true };

/** A conversation that was compacted at some of its model calls, as `compactContext` does it, and where the newest of these was undone or not. */
const compacted = record({ transcript: transcripts, goals: array(integer({ min: 50, max: 3_000 }), { maxLength: 4 }), cuts: boolean(), undone: boolean() }).map(
  ({ transcript, goals, cuts, undone }) => {
    const moments = callsOf(transcript);
    const compactions = goals.reduce<Compaction[]>((made, tokens, index) => {
      const until = moments[Math.floor(((index + 1) * moments.length) / (goals.length + 1))] ?? 0;
      return until === 0 ? made : [...made, ...compactAt(transcript, made, until, tokens, cuts)];
    }, []);
    const newest = compactions.at(-1);
    if (undone && newest) newest.undoneAfterSeq = transcript.at(-1)?.seq ?? 0;
    return { transcript, compactions, moments };
  },
);

/** The newest entries of the model calls: all that is before each answer. */
function callsOf(transcript: StoredEntry[]): number[] {
  return transcript.flatMap(({ seq, entry }) => (entry.role === 'assistant' ? [seq - 1] : [])).filter((seq) => seq > 0);
}

function compactAt(all: StoredEntry[], compactions: Compaction[], until: number, tokens: number, cuts: boolean): Compaction[] {
  const transcript = all.filter(({ seq }) => seq <= until);
  const parts = { transcript, compactions, instructions: 'Be brief.', tools: [], recall: RECALL };
  const { leftOut, summaryTo } = planCompaction(parts, { tokens, keepTurns: 2, all: false });
  const previous = leftOutBy(compactions).summary;
  const summed = summaryTo === undefined ? leftOut : { ...leftOut, summary: digest({ transcript, to: summaryTo, previous, window: 4_000 }) };
  const made = cuts ? planCut(parts, summed, tokens) : summed;
  return Object.keys(made).length === 0 ? [] : [compaction(compactions.length + 1, until, made)];
}

function promptAt(transcript: StoredEntry[], compactions: Compaction[], until: number) {
  const known = transcript.filter(({ seq }) => seq <= until);
  const made = compactions.filter(({ afterSeq }) => afterSeq <= until).map((one) => undoneLater(one, until));
  return toMessages({ instructions: '', transcript: known, shown: shownEntries(known, made, RECALL), tools: [] }, TRAITS).messages;
}

function undoneLater(one: Compaction, until: number): Compaction {
  const { undoneAfterSeq, ...rest } = one;
  return undoneAfterSeq === undefined || undoneAfterSeq > until ? rest : one;
}

test('each call of a prompt has exactly one result, right after it, and no result is without its call', () => {
  assert(
    property(compacted, ({ transcript, compactions, moments }) => {
      for (const until of moments) {
        const messages = promptAt(transcript, compactions, until);
        for (const [index, message] of messages.entries()) {
          const calls = idsOf(message, 'tool-call');
          const next = messages[index + 1];
          if (calls.length > 0) expect(next && idsOf(next, 'tool-result')).toEqual(calls);
          const results = idsOf(message, 'tool-result');
          const before = messages[index - 1];
          if (results.length > 0) expect(before && idsOf(before, 'tool-call')).toEqual(results);
        }
        const all = messages.flatMap((message) => idsOf(message, 'tool-call'));
        expect(new Set(all).size).toBe(all.length);
      }
    }),
  );
});

test('messages of the user are in every prompt, word for word and in order, unless their middles had to be cut', () => {
  assert(
    property(compacted, ({ transcript, compactions, moments }) => {
      for (const until of moments) {
        const said = transcript.flatMap(({ seq, entry }) => (seq <= until && entry.role === 'user' ? entry.content : []));
        const shown = promptAt(transcript, compactions, until).flatMap(({ role, content }) => (role === 'user' && typeof content !== 'string' ? content : []));
        const texts = shown.flatMap((part) => (part.type === 'text' && part.text.startsWith('message ') ? [part.text] : []));
        const longest = Math.min(...compactions.map(({ leftOut }) => leftOut.cut?.characters ?? Infinity));
        expect(texts).toHaveLength(said.length);
        for (const [index, part] of said.entries()) {
          const text = part.type === 'text' ? part.text : '';
          if (text.length <= longest) expect(texts[index]).toBe(text);
        }
      }
    }),
  );
});

test('a prompt begins with the prompt of the step before, unless there was a compaction between them', () => {
  assert(
    property(compacted, ({ transcript, compactions, moments }) => {
      for (const [index, until] of moments.entries()) {
        const before = moments[index - 1];
        if (before === undefined) continue;
        const changed = compactions.some(({ afterSeq, undoneAfterSeq = 0 }) => [afterSeq, undoneAfterSeq].some((at) => at > before && at <= until));
        const late = transcript.some(
          ({ seq, entry }) => seq > before && seq <= until && entry.role === 'tool' && !answersNext(transcript, before, entry.callId),
        );
        if (changed || late) continue;
        const [first, second] = [before, until].map((moment) => textOf(promptAt(transcript, compactions, moment)));
        expect(second?.startsWith(first ?? '')).toBe(true);
      }
    }),
  );
});

test('the same transcript and compactions give the same prompt, and an undone compaction leaves no trace', () => {
  assert(
    property(compacted, ({ transcript, compactions }) => {
      expect(shownEntries(transcript, compactions, RECALL)).toEqual(shownEntries(structuredClone(transcript), structuredClone(compactions), RECALL));
      const left = compactions.filter(({ undoneAfterSeq }) => undoneAfterSeq === undefined);
      expect(shownEntries(transcript, compactions, RECALL)).toEqual(shownEntries(transcript, left, RECALL));
    }),
  );
});

test('what is left out makes the prompt smaller, and each part of it says how it is read', () => {
  assert(
    property(transcripts, (transcript) => {
      const until = callsOf(transcript).at(-1) ?? 0;
      const known = transcript.filter(({ seq }) => seq <= until);
      const parts = { transcript: known, compactions: [], instructions: '', tools: [], recall: RECALL };
      const { leftOut } = planCompaction(parts, { tokens: 100, keepTurns: 1, all: false });
      if (leftOut.outputsTo === undefined) return;
      const made = [compaction(1, until, { outputsTo: leftOut.outputsTo })];
      expect(JSON.stringify(shownEntries(known, made, RECALL)).length).toBeLessThanOrEqual(JSON.stringify(known).length);
      for (const { seq, entry } of shownEntries(known, made, RECALL)) {
        const original = known.find((stored) => stored.seq === seq)?.entry;
        if (JSON.stringify(entry) !== JSON.stringify(original)) expect(JSON.stringify(entry)).toContain(`${RECALL} and {\\"entry\\": ${seq}}`);
      }
    }),
  );
});

function answersNext(transcript: StoredEntry[], before: number, callId: string): boolean {
  const next = transcript.find(({ seq, entry }) => seq > before && entry.role === 'assistant');
  return next?.entry.role === 'assistant' && next.entry.parts.some((part) => part.type === 'tool-call' && part.callId === callId);
}

function idsOf({ content }: ReturnType<typeof promptAt>[number], type: 'tool-call' | 'tool-result'): string[] {
  return typeof content === 'string' ? [] : content.flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : []));
}

/** What is said, part for part: adjacent messages of a role are one message, to which the next step may add parts. */
function textOf(messages: ReturnType<typeof promptAt>): string {
  return messages.flatMap(({ role, content }) => (typeof content === 'string' ? [] : content.map((part) => `${role} ${JSON.stringify(part)}`))).join('\n');
}

test('a summary whose middle is cut does not say that an entry has it', () => {
  const transcript: StoredEntry[] = ['one', 'two'].map((text, index) => ({
    seq: index + 1,
    turnId: 'turn_1',
    at: '',
    entry: { role: 'user', content: [{ type: 'text', text: text.repeat(200) }] },
  }));
  const summary = { to: 1, by: 'model', goal: 'goal '.repeat(200), constraints: [], decisions: '', files: '', openWork: 'The end.' } as const;
  const [one, note] = shownEntries(transcript, [compaction(1, 1, { summary: { ...summary, constraints: [] }, cut: { to: 2, characters: 300 } })], RECALL);
  expect(one?.entry).toMatchObject({
    content: [{ text: expect.stringContaining('characters left out to save room. Read it with context__recall and {"entry": 1}. …]') }],
  });
  expect(note?.entry).toMatchObject({ role: 'note', text: expect.stringMatching(/\[… \d+ characters left out to save room\. …\]\n[^]*The end\.$/) });
});
