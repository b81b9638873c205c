import type { Compaction, LeftOut, StoredEntry } from '../../contracts/transcript.ts';
import { leftOutBy } from './left-out.ts';
import { estimateEntries, promptTokens, scaleOf, type PromptParts } from './prompt-size.ts';
import { placesIn, shownEntries } from './shown-entries.ts';

/** The newest entries that are kept may take up this part of what the prompt is to have. */
const KEPT_PART = 0.5;
/** The longest texts that are still cut, from one try to the next. */
const LONGEST_TEXTS = [32_768, 16_384, 8_192, 4_096, 2_048, 1_024, 512, 256];

export interface CompactionGoal {
  /** Tokens that the prompt is to have afterwards. */
  tokens: number;
  keepTurns: number;
  /** Leave out all that may be, also where less would reach the goal. */
  all: boolean;
}

export interface CompactionPlan {
  leftOut: LeftOut;
  /** The entries up to this one need a summary, which replaces that of `leftOut`. */
  summaryTo?: number;
}

/**
 * What to leave out so that the prompt has about as many tokens as wished: first results and long arguments of older calls; when that is not enough, the older
 * entries, for which there will be a summary. The boundary is always before an answer or a turn, so that a call stays with its result.
 */
export function planCompaction(parts: PromptParts, goal: CompactionGoal): CompactionPlan {
  const { transcript, compactions } = parts;
  const now = leftOutBy(compactions);
  const to = boundaryOf(parts, goal) - 1;
  const outputs: LeftOut = to > (now.outputsTo ?? 0) ? { outputsTo: to } : {};
  if (!goal.all && tokensWith(parts, outputs) <= goal.tokens) return { leftOut: outputs };
  const summarized = now.summary?.to ?? 0;
  const placeOf = placesIn(transcript);
  const isOpen = (stored: StoredEntry) => stored.entry.role !== 'user' && placeOf(stored) > summarized && placeOf(stored) <= to;
  return { leftOut: outputs, ...(transcript.some(isOpen) && { summaryTo: to }) };
}

/** The last resort: cuts the longest texts of all entries, until the prompt has so many tokens, or none is long. */
export function planCut(parts: PromptParts, leftOut: LeftOut, tokens: number): LeftOut {
  const to = parts.transcript.at(-1)?.seq ?? 0;
  const fits = (characters: number) => tokensWith(parts, { ...leftOut, cut: { to, characters } }) <= tokens;
  const characters = LONGEST_TEXTS.find(fits) ?? 256;
  return { ...leftOut, cut: { to, characters } };
}

/** The tokens of the prompt if this were left out, too. */
export function tokensWith(parts: PromptParts, leftOut: LeftOut): number {
  if (Object.keys(leftOut).length === 0) return promptTokens(parts);
  const planned: Compaction = { ...PLANNED, afterSeq: parts.transcript.at(-1)?.seq ?? 0, leftOut };
  return promptTokens({ ...parts, compactions: [...parts.compactions, planned] });
}

const PLANNED = { compactionId: '', at: '', reason: 'full', tokensBefore: 0, tokensAfter: 0 } as const;

/** The first entry that is kept whole: the newest turns, or as many of their newest steps as there is room for. */
function boundaryOf(parts: PromptParts, { tokens, keepTurns }: CompactionGoal): number {
  const { transcript, compactions, recall, takes } = parts;
  const turns = [...new Set(transcript.map(({ turnId }) => turnId))];
  const kept = new Set(turns.slice(-keepTurns));
  const starts = transcript.filter(({ entry, turnId }, index) => entry.role === 'assistant' || turnId !== transcript[index - 1]?.turnId);
  const candidates = starts.filter(({ turnId }) => kept.has(turnId)).map(({ seq }) => seq);
  const scale = scaleOf(parts);
  const shown = shownEntries(transcript, compactions, recall);
  const fits = (first: number) =>
    estimateEntries(
      shown.filter(({ seq }) => seq >= first),
      takes,
    ) *
      scale <=
    tokens * KEPT_PART;
  return candidates.find(fits) ?? candidates.at(-1) ?? 0;
}
