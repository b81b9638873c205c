import type { ScheduleDescription, ScheduleSpec } from '@temporalio/client';
import { LONGEST_MS, parseDuration } from '../common/duration.ts';
import { failure } from '../contracts/errors.ts';
import type { Schedule, ScheduleTiming } from './types/schedule-types.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const ONE_OF = 'Give one of cron, every and at';
const CRON = /^(@(yearly|monthly|weekly|daily|hourly)|[^\s#=@]+( [^\s#=@]+){4})$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const MONTHS = ['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE', 'JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER', 'NOVEMBER', 'DECEMBER'] as const;

type AnyTiming = { [Name in 'cron' | 'timeZone']?: string } & { every?: string | number; at?: string | Date };

/**
 * Converts the times to Temporal's form. Checks only what Temporal would accept, or refuse with a less helpful message; Temporal checks the rest.
 */
export function scheduleSpecOf(timing: ScheduleTiming): ScheduleSpec {
  const { cron, timeZone, every, at }: AnyTiming = timing;
  const given = Object.entries({ cron, every, at }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (given.length > 1) throw bad('timing', `${given.join(' and ')} are both given`, ONE_OF);
  if (cron !== undefined) return cronSpec(cron, timeZone);
  if (timeZone !== undefined) throw bad('timeZone', 'it has no effect without cron', 'Leave it out, or write the time as cron');
  if (every !== undefined) return { intervals: [{ every: atLeastAMinute('every', every) }] };
  if (at !== undefined) return onceSpec(at);
  throw bad('timing', 'no time is given', ONE_OF);
}

/** Refuses what Temporal would not run as intended: further fields for seconds and years, time zones and comments within the text. */
function cronSpec(cron: string, timeZone = 'UTC'): ScheduleSpec {
  const text = cron.trim().replaceAll(/\s+/g, ' ');
  if (!CRON.test(text))
    throw bad('cron', `"${cron}" is not understood`, 'Write five fields, such as 0 9 * * 1-5, or @hourly, @daily, @weekly, @monthly, @yearly');
  // Temporal stores the times and not the text. It does store what follows a #.
  return { cronExpressions: [`${text} # ${text}`], timezone: timeZone };
}

function onceSpec(given: string | Date): ScheduleSpec {
  const text = given instanceof Date ? (Number.isNaN(given.getTime()) ? 'Invalid Date' : given.toISOString()) : given;
  const at = new Date(text);
  if (!INSTANT.test(text) || Number.isNaN(at.getTime()) || !isDay(text.slice(0, 10)))
    throw bad('at', `"${text}" is no time`, 'Write it with its zone, such as 2027-01-31T09:00:00Z');
  at.setUTCMilliseconds(0);
  const [year, month, dayOfMonth] = [at.getUTCFullYear(), MONTHS[at.getUTCMonth()] ?? 'JANUARY', at.getUTCDate()];
  const [hour, minute, second] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
  return { calendars: [{ year, month, dayOfMonth, hour, minute, second, comment: at.toISOString() }] };
}

/** @throws INVALID_ARGUMENT for a single time that has come */
export function checkIsAhead(timing: Schedule['timing'], nowMs: number): void {
  if (timing.kind === 'at' && Date.parse(timing.at) <= nowMs) throw bad('at', `${timing.at} is over`, 'Give a time in the future');
}

/** The times of a new schedule, as `timingOf` will read them back. */
export function timingOfNew({ cronExpressions = [], calendars = [], intervals = [], timezone }: ScheduleSpec): Schedule['timing'] {
  const [interval] = intervals;
  if (interval) return { kind: 'every', everyMs: Number(interval.every) };
  const comment = cronExpressions[0]?.split(' # ')[1] ?? calendars[0]?.comment ?? '';
  return timingOfText(comment, timezone);
}

/** `Date` reads the 31st of a shorter month as a day of the next month. */
function isDay(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
}

/** Returns the duration in milliseconds: whole seconds, in which Temporal counts. Less than a minute is refused, and more than Temporal can count. */
export function atLeastAMinute(what: string, given: string | number): number {
  const ms = typeof given === 'number' ? given : parseDuration(given);
  if (ms > LONGEST_MS) throw bad(what, `${given} is longer than a hundred years`, 'Give at most 36525d');
  if (ms >= MINUTE) return Math.round(ms / SECOND) * SECOND;
  throw bad(what, `${given} is less than a minute`, 'Write 1m or more, such as 30m, 24h or 7d');
}

/** Reads the times back in the form in which they were given. */
export function timingOf(spec: ScheduleDescription['spec']): Schedule['timing'] {
  const { calendars = [], intervals = [], skip = [] } = spec;
  const [interval] = intervals;
  if (calendars.length + intervals.length !== 1 || skip.length > 0) return { kind: 'other' };
  if (interval) return interval.offset ? { kind: 'other' } : { kind: 'every', everyMs: interval.every };
  return timingOfText(calendars[0]?.comment ?? '', spec.timezone);
}

function timingOfText(comment: string, timezone: string | undefined): Schedule['timing'] {
  if (INSTANT.test(comment)) return { kind: 'at', at: comment };
  return CRON.test(comment) ? { kind: 'cron', cron: comment, timeZone: timezone || 'UTC' } : { kind: 'other' };
}

function bad(what: string, problem: string, fix: string) {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}
