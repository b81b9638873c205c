import { visibleText } from './visible-text.ts';

/** Characters that are kept of an error's message, and of each of its values. */
const LONGEST = 2_000;
/** Characters that are processed; nothing beyond them is kept. */
const LONGEST_LOOKED_AT = 20_000;

/** Text of an error for people who read it in Temporal: every character is visible, and a cut is marked. */
export function operatorText(text: string, longest = LONGEST, clean: (text: string) => string = (given) => given): string {
  const seen = visibleText(clean(text.slice(0, LONGEST_LOOKED_AT)));
  if (seen.length <= longest && text.length <= LONGEST_LOOKED_AT) return seen;
  // Removes the first half of a surrogate pair at the cut.
  return `${seen.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '')} … [cut, ${text.length} characters]`;
}

/** The same for the values of an error. */
export function operatorValues<Values extends object>(values: Values, clean?: (text: string) => string): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]: [string, unknown]) => [name, typeof value === 'string' ? operatorText(value, LONGEST, clean) : value]),
  ) as Values;
}
