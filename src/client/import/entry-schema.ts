import { z } from 'zod';
import { isBlob } from '../../contracts/attachments/media.ts';
import { EXPORT_FORMAT } from '../export/export-types.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { CUT_OFF } from '../../contracts/transcript.ts';

const LONGEST_ID = 500;

const id = z
  .string()
  .min(1)
  .max(LONGEST_ID)
  .refine((text) => !/\p{Cc}/u.test(text), 'an id with control characters');
/** What Postgres and `Date` both have. */
const time = z.iso.datetime().refine((text) => text >= '1970' && text < '9999', 'a time that is not from 1970 to 9998');
const amount = z.number().min(0);
const object = z.record(z.string(), z.unknown()).transform((value) => value as JsonObject);
const blob = z.string().refine(isBlob, 'a blob that is no SHA-256');
const type = z.enum(['image', 'file']);
/** What models and plugins say may be any text: a model may call what is no tool. */
const said = z.string();
/** What Postgres has in a column. */
const name = z.string().refine((text) => !text.includes('\0'), 'a name with NUL');
const noBlob = z.undefined().optional();

/** A plugin may give its parts more fields. */
const part = z.union([
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), mediaType: said, data: z.string(), blob: noBlob }),
  z.looseObject({ type: z.literal('file'), mediaType: said, name: said, data: z.string(), blob: noBlob }),
  z.strictObject({ type, mediaType: said, name: name.optional(), blob, bytes: z.int().min(0) }),
]);
const spoken = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string(), providerMetadata: object.optional() }),
  z.strictObject({
    type: z.literal('tool-call'),
    callId: id,
    tool: said,
    arguments: object,
    unreadable: z.string().optional(),
    providerMetadata: object.optional(),
  }),
]);
const usage = z.strictObject({
  inputTokens: amount,
  outputTokens: amount,
  cacheReadTokens: amount.optional(),
  cacheWriteTokens: amount.optional(),
  clearedTokens: amount.optional(),
  costUsd: amount.nullable().optional(),
});

/** A line of `transcript.jsonl`. */
export const ENTRY = z.strictObject({
  seq: z.int().min(1).max(1_000_000_000),
  turnId: id,
  stepId: id.optional(),
  at: time,
  rewound: z.literal(true).optional(),
  entry: z.discriminatedUnion('role', [
    z.strictObject({ role: z.literal('user'), content: z.array(part), clientTools: z.unknown().optional() }),
    z.strictObject({ role: z.literal('assistant'), parts: z.array(spoken), usage: usage.optional(), cutOff: z.enum(CUT_OFF).optional() }),
    z.strictObject({ role: z.literal('tool'), callId: id, tool: said, content: z.array(part), isError: z.boolean() }),
    z.strictObject({ role: z.literal('note'), text: z.string(), from: z.literal('sandbox').optional() }),
  ]),
});

const counted = z.looseObject({ count: z.int().min(0), lastSeq: z.int().min(0) });

/** What is needed of `conversation.json`. */
export const ABOUT = z.looseObject({
  format: z.literal(EXPORT_FORMAT.format),
  version: z.literal(EXPORT_FORMAT.version),
  conversationId: id,
  agentId: id,
  userId: id,
  exportedAt: time,
  transcript: counted,
  events: counted,
});
export type About = z.infer<typeof ABOUT>;

/** The first problem of a value that does not fit, with its place in the value. */
export function problemIn({ issues: [issue] }: z.ZodError): string {
  const place = (issue?.path ?? []).map(String).join('.');
  return `${place === '' ? '' : `${place}: `}${issue?.message ?? 'unknown'}`;
}
