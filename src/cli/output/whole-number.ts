import { InvalidArgumentError } from 'commander';

/** An option's value that is a count. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}
