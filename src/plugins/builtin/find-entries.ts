import { RECALL_TOOL, type StoredEntry, type TranscriptEntry } from '../../contracts/transcript.ts';
import { describeEntry, textOfEntry } from './entry-text.ts';

const MOST_FOUND = 8;
const MOST_WORDS = 20;
/** Characters of an excerpt, before and after what was found. */
const AROUND = 200;
/** Characters of an entry that are searched. The search blocks the worker's event loop. */
const MOST_SEARCHED = 200_000;
/** A whole phrase counts more than all words of it. */
const PHRASE = 100;

interface Found {
  stored: StoredEntry;
  text: string;
  score: number;
  at: number;
}

/** The entries that contain the phrase or most of its words, with what is around the place. */
export function findEntries(transcript: StoredEntry[], query: string): string {
  const phrase = query.trim().toLowerCase();
  const words = [...new Set(phrase.split(/[^\p{L}\p{N}_-]+/u).filter((word) => word.length > 1))].toSorted((a, b) => b.length - a.length).slice(0, MOST_WORDS);
  const found = transcript
    .filter(({ entry }) => !isRecall(entry))
    .flatMap((stored) => matchOf(stored, phrase, words) ?? [])
    .toSorted((a, b) => b.score - a.score || b.stored.seq - a.stored.seq);
  if (found.length === 0) return `No entry contains any word of "${query}". Try other words.`;
  const left = found.length - MOST_FOUND;
  const more = left > 0 ? `\n${left} more fit less well: say more words to see them.` : '';
  const lines = found.slice(0, MOST_FOUND).map(({ stored, text, at }) => `${describeEntry(stored)}: ${excerpt(text, at)}`);
  return `The entries that fit best. Read one whole with {"entry": its number}.\n${lines.join('\n')}${more}`;
}

function matchOf(stored: StoredEntry, phrase: string, words: string[]): Found | undefined {
  const text = textOfEntry(stored.entry).slice(0, MOST_SEARCHED);
  const searched = text.toLowerCase();
  const whole = searched.indexOf(phrase);
  // The longest word says most about the place.
  const places = words.map((word) => searched.indexOf(word)).filter((at) => at >= 0);
  const score = places.length + (whole >= 0 ? PHRASE : 0);
  return score === 0 ? undefined : { stored, text, score, at: whole >= 0 ? whole : (places[0] ?? 0) };
}

/** Calls of `context:recall` and their results only repeat words of other entries. */
function isRecall(entry: TranscriptEntry): boolean {
  if (entry.role === 'tool') return entry.tool === RECALL_TOOL;
  const calls = entry.role === 'assistant' ? entry.parts.filter((part) => part.type === 'tool-call') : [];
  return calls.length > 0 && calls.every(({ tool }) => tool === RECALL_TOOL);
}

function excerpt(text: string, at: number): string {
  const [from, to] = [Math.max(0, at - AROUND), Math.min(text.length, at + AROUND)];
  return `${from > 0 ? '…' : ''}${text.slice(from, to).replaceAll(/\s+/g, ' ')}${to < text.length ? '…' : ''}`;
}
