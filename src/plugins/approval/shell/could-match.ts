import { matchesPattern } from '../../../common/match-pattern.ts';
import { UNKNOWN } from './word-text.ts';

/**
 * Whether a pattern, in which `*` stands for anything, matches a text for some value of its unknown parts.
 * The time is at most proportional to the length of the pattern times the length of the text.
 */
export function couldMatch(pattern: string, text: string): boolean {
  if (!text.includes(UNKNOWN)) return matchesPattern(pattern, text);
  // Positions in the pattern that the text read so far can reach.
  let places = closure(pattern, new Set([0]));
  for (const character of text) {
    if (places.size === 0) return false;
    places = character === UNKNOWN ? from(Math.min(...places), pattern.length) : closure(pattern, step(pattern, places, character));
  }
  return places.has(pattern.length);
}

function step(pattern: string, places: Set<number>, character: string): Set<number> {
  const next = new Set<number>();
  for (const place of places) {
    if (pattern[place] === '*') next.add(place);
    // A character may have two code units.
    else if (pattern.startsWith(character, place)) next.add(place + character.length);
  }
  return next;
}

function closure(pattern: string, places: Set<number>): Set<number> {
  // The set grows during the loop, so consecutive `*` are passed as well.
  for (const place of places) if (pattern[place] === '*') places.add(place + 1);
  return places;
}

function from(first: number, last: number): Set<number> {
  return new Set(Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
