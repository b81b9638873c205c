import { z } from 'zod';
import { failure } from '../contracts/errors.ts';

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A date at this distance from now fits the types for times of Postgres and of JavaScript. */
export const LONGEST_MS = 36_525 * 86_400_000;
const PROBLEM = 'is not a duration; write 30s, 10m, 24h or 7d, or milliseconds as a number';
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** A duration as people write it: `30s`, `10m`, `24h`, `7d`, or a number of milliseconds. Parsed to milliseconds. */
export const duration = z
  .union([z.number().min(0, PROBLEM), z.string().regex(TEXT, PROBLEM)], { error: PROBLEM })
  .transform((value) => Math.round(typeof value === 'number' ? value : millisecondsOf(value)))
  .refine((milliseconds) => milliseconds <= LONGEST_MS, 'is longer than a hundred years; give at most 36525d');

/** Milliseconds of a text such as `30s`. Throws INVALID_ARGUMENT. */
export function parseDuration(text: string): number {
  const parsed = duration.safeParse(text);
  if (parsed.success) return parsed.data;
  throw failure('INVALID_ARGUMENT', { what: 'Duration', problem: `"${text}" is none`, fix: 'Write 30s, 10m, 24h or 7d' });
}

/** A day, or a time with its zone. `Date.parse` alone reads `7` as a month of 2001, and February 30th as a day of March. */
const TIME = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/** The time that a text names, or that was so long ago as the age it gives (`24h`), in milliseconds. NaN for another text. */
export function parseTimeOrAge(text: string): number {
  const age = duration.safeParse(text);
  if (age.success) return Date.now() - age.data;
  return TIME.safeParse(text).success ? Date.parse(text) : Number.NaN;
}

function millisecondsOf(text: string): number {
  const [, amount, unit = ''] = TEXT.exec(text) ?? [];
  return Number(amount) * (UNITS[unit] ?? 0);
}
