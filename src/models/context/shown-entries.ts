import type { Compaction, ContextSummary, LeftOut, StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import { leftOutBy } from './left-out.ts';
import { withoutMiddles, withoutOutput } from './shorten-entry.ts';
import { describeSummary } from './summary-text.ts';

/**
 * The entries that a prompt consists of: a function of the transcript and its compactions alone, so that every attempt of every worker makes the same prompt, and
 * its beginning stays the same from step to step until there is another compaction. A call and its result are shown or left out together; messages of the user are
 * always shown.
 * @param recall the name under which the model knows the tool that reads what is left out
 */
export function shownEntries(transcript: readonly StoredEntry[], compactions: readonly Compaction[], recall: string, beforeSeq?: number): StoredEntry[] {
  const leftOut = leftOutBy(compactions, beforeSeq);
  const entries = transcript.filter(({ seq }) => beforeSeq === undefined || seq < beforeSeq);
  if (Object.keys(leftOut).length === 0) return entries;
  const placeOf = placesIn(transcript);
  const short = (some: StoredEntry[]) => some.map((stored) => shortened(stored, leftOut, placeOf(stored), recall));
  const { summary } = leftOut;
  const last = summary && entries.findLast(({ seq }) => seq <= summary.to);
  if (!last) return short(entries);
  const said = entries.filter(({ seq, entry }) => seq <= summary.to && entry.role === 'user');
  const rest = entries.filter((stored) => placeOf(stored) > summary.to);
  return [...short(said), { ...last, seq: summary.to, entry: noteOf(summary, leftOut, recall) }, ...short(rest)];
}

/** Where an entry belongs: a result belongs to its call, wherever it was stored. */
export function placesIn(transcript: readonly StoredEntry[]): (stored: StoredEntry) => number {
  const calls = new Map(
    transcript.flatMap(({ seq, entry }) =>
      entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'tool-call' ? [[part.callId, seq] as const] : [])) : [],
    ),
  );
  return ({ seq, entry }) => (entry.role === 'tool' ? (calls.get(entry.callId) ?? seq) : seq);
}

/** No entry has the text of a summary, so none is named where its middle is cut. */
function noteOf(summary: ContextSummary, { cut }: LeftOut, recall: string): TranscriptEntry {
  const note: TranscriptEntry = { role: 'note', text: describeSummary(summary, recall) };
  return cut && summary.to <= cut.to ? withoutMiddles(note, cut.characters) : note;
}

function shortened(stored: StoredEntry, { outputsTo = 0, cut }: LeftOut, place: number, recall: string): StoredEntry {
  const { seq } = stored;
  const entry = place <= outputsTo ? withoutOutput(stored.entry, { recall, seq }) : stored.entry;
  const shown = cut && place <= cut.to ? withoutMiddles(entry, cut.characters, { recall, seq }) : entry;
  return shown === stored.entry ? stored : { ...stored, entry: shown };
}
