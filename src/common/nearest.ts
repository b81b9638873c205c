import { distance } from 'fastest-levenshtein';

const MAX_DISTANCE = 3;

/** The candidate with the smallest edit distance to a word, if it is close enough to be what was meant. */
export function nearest(word: string, candidates: string[], mostDifferent = MAX_DISTANCE): string | undefined {
  // The edit distance is at least the difference in length, so other candidates need no comparison.
  const similar = candidates.filter((candidate) => Math.abs(candidate.length - word.length) <= MAX_DISTANCE);
  const ranked = similar.map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase()) }));
  const best = ranked.toSorted((a, b) => a.edits - b.edits)[0];
  return best && best.edits <= Math.min(mostDifferent, word.length - 1) ? best.candidate : undefined;
}
