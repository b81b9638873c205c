import { InvalidArgumentError } from 'commander';

/** An option's value that is a count. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

/** The same for how many a list shows: an empty one would say that there is nothing. */
export function atLeastOne(text: string): number {
  const count = wholeNumber(text);
  if (count === 0) throw new InvalidArgumentError('Give a whole number from 1 on.');
  return count;
}
