import { z } from 'zod';
import { id, name, read, readOptions, textSchema } from '../../common/arguments.ts';
import { parseDuration, parseTimeOrAge } from '../../common/duration.ts';
import { EVENT_TYPES } from '../../contracts/events.ts';
import { failure } from '../../contracts/errors.ts';
import { eventOfMessage } from '../../contracts/webhook.ts';
import { oddityOfWritten } from '../../network/address-policy.ts';
import type { CreateWebhookOptions, UpdateWebhookOptions } from './webhook-types.ts';

const MAX_URL = 2_000;
const MOST_AGENTS = 100;
const MOST_PER_PAGE = 200;
const LONGEST_OVERLAP_MS = 7 * 24 * 60 * 60_000;

const url = textSchema(MAX_URL, { oneLine: true }).superRefine((text, context) => {
  const problem = problemOfUrl(text);
  const params = { fix: 'Give a URL such as https://example.com/hooks' };
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem, params, input: text });
});
const types = z.array(z.enum(EVENT_TYPES)).min(1, 'give at least one type').max(EVENT_TYPES.length);
const agents = z.array(name).min(1, 'give at least one agent').max(MOST_AGENTS);
const create = z.strictObject({ url, tenant: id.optional(), types: types.optional(), agents: agents.optional() });
const update = z.strictObject({
  url: url.optional(),
  types: types.nullable().optional(),
  agents: agents.nullable().optional(),
  state: z.enum(['active', 'disabled']).optional(),
});
const page = z.strictObject({
  limit: z.int().min(1, `give 1 to ${MOST_PER_PAGE}`).max(MOST_PER_PAGE, `give 1 to ${MOST_PER_PAGE}`).optional(),
  cursor: textSchema(100).optional(),
});
const time = z.union([textSchema(100), z.instanceof(Date)], { error: 'give a Date, or a text such as 24h or 2027-01-31T09:00:00Z' });
const replay = z.strictObject({ since: time.optional(), from: textSchema(300).optional() });
const rotate = z.strictObject({ overlap: z.union([textSchema(50), z.number()], { error: 'give milliseconds, or a text such as 24h' }).optional() });

export const createWebhookOptions = (given: unknown) => readOptions('options of webhooks.create', create, given) as CreateWebhookOptions;
export const updateWebhookOptions = (given: unknown) => readOptions('options of webhooks.update', update, given) as UpdateWebhookOptions;
export const attemptOptions = (given: unknown) => readOptions('options of webhooks.attempts', page, given) as { limit?: number; cursor?: string };

/** The id of the last attempt of the page before. */
export function readAttemptCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined || /^\d{1,18}$/.test(cursor)) return cursor;
  throw failure('INVALID_ARGUMENT', { what: 'cursor', problem: 'it is none', fix: 'Give the `next` of the page before' });
}

export type Replay = { since: Date } | { from: { conversationId: string; seq: number }; messageId: string };

export function replayOptions(given: unknown): Replay {
  const { since, from } = readOptions('options of webhooks.replay', replay, given) as { since?: Date | string; from?: string };
  if ((since === undefined) === (from === undefined)) {
    throw failure('INVALID_ARGUMENT', { what: 'options of webhooks.replay', problem: 'it has not one of since and from', fix: 'Give a time, or a webhook-id' });
  }
  if (since !== undefined) return { since: readTime(since) };
  const event = eventOfMessage(from ?? '');
  if (event) return { from: event, messageId: from ?? '' };
  throw failure('INVALID_ARGUMENT', { what: 'options of webhooks.replay.from', problem: 'it is no webhook-id', fix: 'Give one such as evt_7_conv_…' });
}

/** Years of four digits, which Postgres reads as well. */
function readTime(given: Date | string): Date {
  const date = new Date(typeof given === 'string' ? parseTimeOrAge(given) : given);
  const year = date.getUTCFullYear();
  if (year >= 1970 && year <= 9999) return date;
  throw failure('INVALID_ARGUMENT', { what: 'options of webhooks.replay.since', problem: 'it is no time', fix: 'Write 24h, or 2027-01-31T09:00:00Z' });
}

/** Milliseconds for which the old secret signs too; undefined when it is not told. */
export function overlapOf(given: unknown): number | undefined {
  const { overlap } = readOptions('options of webhooks.rotate', rotate, given) as { overlap?: number | string };
  if (overlap === undefined) return undefined;
  const ms = typeof overlap === 'string' ? parseDuration(overlap) : read('options of webhooks.rotate.overlap', z.number().min(0, 'give 0 or more'), overlap);
  if (ms <= LONGEST_OVERLAP_MS) return ms;
  throw failure('INVALID_ARGUMENT', { what: 'options of webhooks.rotate.overlap', problem: 'it is longer than 7d', fix: 'Give 7d or less' });
}

/** What a request could not be sent to, whatever is there. Where it leads is checked whenever a message is sent. */
function problemOfUrl(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return 'it is not an absolute http or https URL';
  const { username, password, hash } = new URL(text);
  if (username !== '' || password !== '') return 'it has credentials, which everybody would see who lists the webhooks';
  return hash === '' ? oddityOfWritten(text) : 'it has a fragment, which is not sent';
}
