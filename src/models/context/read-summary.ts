import { setImmediate } from 'node:timers/promises';
import type { ContextSummary, Quote, StoredEntry } from '../../contracts/transcript.ts';
import { placesIn } from './shown-entries.ts';

const HEADINGS = { goal: 'Goal', constraints: 'Constraints', decisions: 'Decisions', files: 'Files', openWork: 'Open work' } as const;
type Section = keyof typeof HEADINGS;
/** Characters of each section, and of all quotes together, and for each token of the window: a summary must stay small against what it stands for. */
const LONGEST_SECTION = { characters: 6_000, ofWindow: 0.1 };
const LONGEST_QUOTES = { characters: 12_000, ofWindow: 0.3 };
const SHORTEST_QUOTE = 3;
const MOST_QUOTES = 200;
/** Names of tools in a digest. */
const MOST_NAMED = 20;
/** How a digest begins. */
const WITHOUT_MODEL = 'No model could sum up the steps';

/** What a summary is about. */
export interface SummarySource {
  transcript: readonly StoredEntry[];
  /** The newest entry that it stands for. */
  to: number;
  previous: ContextSummary | undefined;
  /** Tokens that the model takes. */
  window: number;
}

/** Reads the answer of a model; undefined when it is not in the fixed form. A quote that no entry contains is left out, and those of the summary before are kept. */
export async function readSummary(answer: string, source: SummarySource): Promise<ContextSummary | undefined> {
  const sections = sectionsOf(answer);
  if (sections.size < 2) return undefined;
  const text = (name: Section) => withoutNothing(sections.get(name) ?? '').slice(0, most(LONGEST_SECTION, source));
  return {
    to: source.to,
    by: 'model',
    goal: text('goal'),
    constraints: await quotesIn(sections.get('constraints') ?? '', source),
    decisions: text('decisions'),
    files: text('files'),
    openWork: text('openWork'),
  };
}

/** A summary without a model, for when none can be had: what the summary before says, and what was called how often. */
export function digest({ transcript, to, previous, window }: SummarySource): ContextSummary {
  const said = `${WITHOUT_MODEL} up to entry ${to}. Calls in them: ${callsUpTo(to, transcript) || 'none'}.`;
  if (!previous) return { to, by: 'digest', goal: '', constraints: [], decisions: said, files: '', openWork: '' };
  // A list has the calls of earlier lists as well.
  const decided = previous.decisions.split('\n').filter((line) => !line.startsWith(WITHOUT_MODEL));
  return { ...previous, to, by: 'digest', decisions: [...decided, said].join('\n').trim().slice(-most(LONGEST_SECTION, { window })) };
}

function most({ characters, ofWindow }: { characters: number; ofWindow: number }, { window }: Pick<SummarySource, 'window'>): number {
  return Math.floor(Math.min(characters, window * ofWindow));
}

function callsUpTo(to: number, transcript: readonly StoredEntry[]): string {
  const counts = new Map<string, number>();
  for (const { seq, entry } of transcript) {
    if (seq <= to && entry.role === 'tool') counts.set(entry.tool, (counts.get(entry.tool) ?? 0) + 1);
  }
  const often = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, MOST_NAMED);
  return often.map(([tool, count]) => `${tool} (${count})`).join(', ');
}

function sectionsOf(answer: string): Map<Section, string> {
  const sections = new Map<Section, string[]>();
  let open: string[] | undefined;
  for (const line of answer.split('\n')) {
    const heading = line.startsWith('#') ? line.replaceAll(/[#*:]/g, '').trim().toLowerCase() : undefined;
    const named = (Object.keys(HEADINGS) as Section[]).find((name) => HEADINGS[name].toLowerCase() === heading);
    if (named) {
      open = sections.get(named) ?? [];
      sections.set(named, open);
    } else open?.push(line);
  }
  return new Map([...sections].map(([name, lines]) => [name, lines.join('\n').trim()]));
}

function withoutNothing(text: string): string {
  return /^\(?nothing\)?\.?$/i.test(text) ? '' : text;
}

/** Only what is really there, word for word, is quoted: a model may invent, and an output of a tool may speak as if it were the user. */
async function quotesIn(section: string, { transcript, to, previous, window }: SummarySource): Promise<Quote[]> {
  const lines = section.split('\n').map((line) => line.replace(/^\s*[-*]\s+/, '').trim());
  const candidates = lines
    .map(unquoted)
    .filter((text) => text.length >= SHORTEST_QUOTE && withoutNothing(text) !== '')
    .slice(0, MOST_QUOTES);
  const said = textsIn(transcript, previous?.to ?? 0, to);
  const found: Quote[] = [];
  for (const text of candidates) {
    const quote = sourceOf(text, said);
    if (quote) found.push(quote);
    // A quote that is nowhere is looked for in all of it, which may have many megabytes.
    await setImmediate();
  }
  const unique = new Map([...(previous?.constraints ?? []), ...found].map((quote) => [quote.text, quote]));
  let room = most(LONGEST_QUOTES, { window });
  return [...unique.values()].filter(({ text }) => {
    const fits = text.length <= room;
    if (fits) room -= text.length;
    return fits;
  });
}

function unquoted(line: string): string {
  const inner = /^["'“„«](.*)["'”“»]$/u.exec(line)?.[1];
  return (inner ?? line).trim();
}

interface Said {
  seq: number;
  by: Quote['by'];
  text: string;
}

/** What the model was given to sum up, what the user says first. */
function textsIn(transcript: readonly StoredEntry[], after: number, to: number): Said[] {
  const placeOf = placesIn(transcript);
  const given = transcript.filter((stored) => placeOf(stored) > after && placeOf(stored) <= to);
  const said = given.map(({ seq, entry }): Said => ({ seq, by: entry.role === 'user' ? 'user' : 'other', text: textOf(entry) }));
  return [...said.filter(({ by }) => by === 'user'), ...said.filter(({ by }) => by === 'other')];
}

function sourceOf(quote: string, said: readonly Said[]): Quote | undefined {
  const found = said.find(({ text }) => text.includes(quote));
  return found && { text: quote, entry: found.seq, by: found.by };
}

function textOf(entry: StoredEntry['entry']): string {
  if (entry.role === 'note') return entry.text;
  const parts: readonly { type: string; text?: string }[] = entry.role === 'assistant' ? entry.parts : entry.content;
  return parts.map(({ type, text }) => (type === 'text' && text !== undefined ? text : '')).join('\n');
}
