import { visibleText } from './visible-text.ts';

/** Characters of an error that are kept, of the message and of each value. */
const LONGEST = 2_000;
/** What is looked at: of what lies beyond, nothing is kept. */
const LONGEST_LOOKED_AT = 20_000;

/** Text of an error for people who look at it in Temporal: every character of it can be seen, and what is cut is told. */
export function operatorText(text: string, longest = LONGEST, clean: (text: string) => string = (given) => given): string {
  const seen = visibleText(clean(text.slice(0, LONGEST_LOOKED_AT)));
  if (seen.length <= longest && text.length <= LONGEST_LOOKED_AT) return seen;
  // No half of a character.
  return `${seen.slice(0, longest).replace(/[\uD800-\uDBFF]$/, '')} … [cut, ${text.length} characters]`;
}

/** The same for the values that an error is made of. */
export function operatorValues<Values extends object>(values: Values, clean?: (text: string) => string): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]: [string, unknown]) => [name, typeof value === 'string' ? operatorText(value, LONGEST, clean) : value]),
  ) as Values;
}
