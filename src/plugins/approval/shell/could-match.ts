import { matchesPattern } from '../../registry/match-pattern.ts';
import { UNKNOWN } from './word-text.ts';

/**
 * Whether a pattern, in which `*` stands for anything, fits some text that the given one may turn out to be.
 * Takes the length of the pattern times that of the text at most.
 */
export function couldMatch(pattern: string, text: string): boolean {
  if (!text.includes(UNKNOWN)) return matchesPattern(pattern, text);
  // Places in the pattern that what has been read so far may have led to.
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
    // A character may be of two code units.
    else if (pattern.startsWith(character, place)) next.add(place + character.length);
  }
  return next;
}

function closure(pattern: string, places: Set<number>): Set<number> {
  // Added to while it is walked, so that one `*` after another is passed as well.
  for (const place of places) if (pattern[place] === '*') places.add(place + 1);
  return places;
}

function from(first: number, last: number): Set<number> {
  return new Set(Array.from({ length: last - first + 1 }, (_, index) => first + index));
}
