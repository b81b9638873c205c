import type { RewindOptions } from '../contracts/checkpoints/checkpoint.ts';
import { FORK_FILES, type ForkOptions } from '../contracts/forks/fork.ts';
import { z } from 'zod';
import { attachmentList } from './attachments/read-attachments.ts';
import { requestedTools } from './client-tools/requested-tools.ts';
import { outputSchema } from './types/output-schema.ts';
import { permissionBound } from '../definitions/agents/agent-schema.ts';
import type { PermissionBound } from '../contracts/agent.ts';
import type { CompactArgs } from '../contracts/transcript.ts';
import type { ConversationState, PauseArgs, ResumeArgs } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { DATABASE_ADDRESS, isDatabaseAddress } from '../platform/database-address.ts';
import { duration as durationSchema } from '../common/duration.ts';
import { count, id, jsonObject, name, read, readOptions, signal, textSchema } from '../common/arguments.ts';
import { showValue } from '../common/show-value.ts';
import { USAGE_GROUPS } from '../contracts/usage.ts';
import { SCOPES } from '../contracts/api-key.ts';
import type { ApproveOptions, Chat, ConnectOptions, EventOptions, ListFilter, RevokeOptions, SendRequest, StartOptions } from './types.ts';
import type { AuditQuery, CreateKeyOptions, SetLimitsOptions } from './types/installation-types.ts';
import type { TreeOptions } from './events/read-tree.ts';
import type { CreateScheduleOptions } from './types/schedule-types.ts';

const STATES = ['running', 'idle', 'awaiting-approval', 'paused', 'closing', 'closed'] as const satisfies readonly ConversationState[];
const MAX_LISTED = 10_000;
const MOST_AUDITED = 1_000;
const reason = textSchema(10_000, { min: 0 });

const start = z.strictObject({
  agent: name,
  user: id,
  // `checkMessageText` validates it and throws an error of its own.
  message: z.unknown().optional(),
  attachments: attachmentList.optional(),
  output: outputSchema.optional(),
  clientTools: requestedTools.optional(),
  tenant: id.optional(),
  unattended: z.boolean().optional(),
  closeWhenDone: z.boolean().optional(),
  conversationId: z.unknown().optional(),
});
const send = z.strictObject({
  messageId: id.optional(),
  whenBusy: z.enum(['queue', 'steer', 'interrupt', 'reject']).optional(),
  attachments: attachmentList.optional(),
  output: outputSchema.optional(),
  clientTools: requestedTools.optional(),
});
const events = z.strictObject({ afterSeq: count.optional(), signal: signal.optional() });
const tree = z.strictObject({ after: textSchema(50_000).optional(), signal: signal.optional() });
const approve = z.strictObject({
  callId: name,
  answer: z.enum(['allow', 'allow-once', 'deny']),
  hash: textSchema(200, { min: 0 }).optional(),
  editedArguments: jsonObject.optional(),
  reason: reason.optional(),
  by: textSchema(200, { min: 0 }).optional(),
});
const zodSchema = z.custom<z.ZodType<never>>((value) => typeof (value as { safeParseAsync?: unknown } | null)?.safeParseAsync === 'function', {
  error: 'it is no schema of zod',
  params: { fix: 'Give one, or leave it out' },
});
const compact = z.strictObject({ undo: z.boolean({ error: 'give true or false' }).optional() });
const pause = z.strictObject({ mode: z.enum(['step', 'now']).optional(), note: reason.optional() });
const resume = z.strictObject({
  extraTurns: count.optional(),
  extraTokens: count.optional(),
  extraWallTimeMs: count.optional(),
  extraStorageMb: count.optional(),
  extraCostUsd: z.number().min(0, 'give US dollars from 0').optional(),
});
const list = z.strictObject({
  state: z.enum(STATES).optional(),
  agent: name.optional(),
  user: name.optional(),
  tenant: name.optional(),
  forkedFrom: name.optional(),
  limit: z.int().min(1, `give 1 to ${MAX_LISTED}`).max(MAX_LISTED, `give 1 to ${MAX_LISTED}`).optional(),
});
const address = textSchema(2000, { oneLine: true });
/** A text with a secret: messages do not show it. It often comes from a file, with the end of its line. */
const secretText = (fix: string) =>
  z.string().superRefine((value, context) => {
    const message =
      value.length > 2000
        ? `it has ${value.length} characters`
        : /[\p{Cc}\uD800-\uDFFF]/u.test(value)
          ? 'it has a line end or another control character'
          : undefined;
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: { fix } });
  });
const apiKey = secretText('Leave that out').refine((text) => /^[!-~]+$/.test(text), {
  error: 'it is no key',
  params: { fix: 'Give the text that was shown when it was made, lsk_…' },
});
const agent = z.custom(
  (value) => ['id', 'model', 'tools', 'budget'].every((key) => (value as Record<string, unknown> | null | undefined)?.[key] !== undefined),
  {
    error: 'it is no agent',
    params: { fix: 'Make it with defineAgent' },
  },
);
const log = z.custom(
  (value) => ['error', 'warn', 'info', 'debug', 'child'].every((key) => typeof (value as Record<string, unknown> | null | undefined)?.[key] === 'function'),
  {
    error: 'it is no logger',
    params: { fix: 'Give a pino logger' },
  },
);
const connect = z.strictObject({
  url: address.refine((text) => /^https?:/.test(text) && URL.canParse(text), 'give an address such as https://longshore.example').optional(),
  apiKey: apiKey.optional(),
  temporalAddress: address.optional(),
  temporalNamespace: address.optional(),
  databaseUrl: secretText('Leave that out').refine(isDatabaseAddress, `give an address such as ${DATABASE_ADDRESS}`).optional(),
  taskQueue: address.optional(),
  agents: z.union([address, z.array(agent)], { error: 'give a directory, or an array of agents' }).optional(),
  lazy: z.boolean().optional(),
  log: log.optional(),
});
const duration = z.union([textSchema(50), z.number()], { error: 'give milliseconds, or a text such as 30m, 24h or 7d' });
const schedule = z.strictObject({
  id: name,
  agent: name,
  user: id,
  tenant: id.optional(),
  message: z.unknown().optional(),
  keepOpen: z.boolean().optional(),
  catchUp: duration.optional(),
  maxRuns: z.int().min(1, 'give a whole number above 0').optional(),
  cron: textSchema(1000).optional(),
  timeZone: textSchema(100).optional(),
  every: duration.optional(),
  at: z.union([textSchema(100), z.instanceof(Date)], { error: 'give a Date, or a text such as 2027-01-31T09:00:00Z' }).optional(),
});

/** What Postgres and `Date` both have. */
const EARLIEST = Date.UTC(1970);
const LATEST = Date.UTC(9999);
const instant = z
  .union([z.date(), z.iso.datetime({ offset: true }), z.iso.date()], { error: 'give a Date, or a text such as 2027-01-31 or 2027-01-31T09:00:00Z' })
  .transform((at) => new Date(at))
  .refine((at) => at.getTime() >= EARLIEST && at.getTime() < LATEST, { error: 'give a time from 1970 to 9998' })
  .transform((at) => at.toISOString());
const usage = z.strictObject({
  from: instant.optional(),
  to: instant.optional(),
  group: z.enum(USAGE_GROUPS).optional(),
  agent: name.optional(),
  user: name.optional(),
  tenant: name.optional(),
  conversation: name.optional(),
  limit: list.shape.limit,
});
const key = z.strictObject({
  name: id,
  scopes: z.array(z.enum(SCOPES)).min(1, 'give at least one scope'),
  tenant: id.optional(),
  expiresIn: durationSchema.refine((milliseconds) => milliseconds > 0, 'give milliseconds above 0, or a text such as 24h or 90d').optional(),
});

const auditQuery = z.strictObject({
  actor: name.optional(),
  action: name.optional(),
  target: name.optional(),
  tenant: name.optional(),
  since: textSchema(100).optional(),
  limit: z.int().min(1, `give 1 to ${MOST_AUDITED}`).max(MOST_AUDITED, `give 1 to ${MOST_AUDITED}`).optional(),
  cursor: textSchema(100).optional(),
});

const rewind = z.strictObject({ confirm: name.optional() });

const fork = z.strictObject({
  at: name.optional(),
  files: z.enum(FORK_FILES).optional(),
  // These two are validated by `startConversation`, which has errors of its own for them.
  message: z.unknown().optional(),
  conversationId: z.unknown().optional(),
});

export const forkOptions = (given: unknown) => readOptions('options of fork', fork, given) as ForkOptions;
export const auditOptions = (given: unknown) => readOptions('options of audit.list', auditQuery, given) as AuditQuery;
/** Attachments are a message even without a text. */
export function startOptions(given: unknown) {
  const options = readOptions('options of start', start, given) as Omit<StartOptions, 'output' | 'clientTools'> & Pick<SendRequest, 'output' | 'clientTools'>;
  return options.message === undefined && options.attachments?.length ? { ...options, message: '' } : options;
}
export const sendOptions = (given: unknown) => readOptions('options of send', send, given) as SendRequest;
export const eventOptions = (given: unknown) => readOptions('options of events', events, given) as EventOptions;
export const treeOptions = (given: unknown) => readOptions('options of treeEvents', tree, given) as TreeOptions;
export const approveOptions = (given: unknown) => readOptions('options of approve', approve, given) as ApproveOptions;
export const pauseOptions = (given: unknown) => readOptions('options of pause', pause, given) as PauseArgs;
export const compactOptions = (given: unknown) => readOptions('options of compact', compact, given) as CompactArgs;
export const resumeOptions = (given: unknown) => readOptions('options of resume', resume, given) as ResumeArgs;
export const rewindOptions = (given: unknown) => readOptions('options of rewind', rewind, given) as RewindOptions;
const revocation = z.strictObject({ by: textSchema(200).optional() });
export const revokeOptions = (given: unknown) => readOptions('options of revokeAllowed', revocation, given) as RevokeOptions;
export const listFilter = (given: unknown) => readOptions('filter of list', list, given) as ListFilter;
export const connectOptions = (given: unknown) => readOptions('options of connect', connect, given) as ConnectOptions;
export const scheduleOptions = (given: unknown) => readOptions('options of schedules.create', schedule, given) as CreateScheduleOptions;
export const usageOptions = (given: unknown) => readOptions('options of usage', usage, given);
const amount = z.number({ error: 'give an amount, 0 or more' }).min(0, 'give an amount, 0 or more');
const limitNumbers = {
  requestsPerMinute: count.optional(),
  streams: count.optional(),
  runningConversations: count.optional(),
  runningTurns: count.optional(),
  tokensPerDay: count.optional(),
};
const tenantLimits = z.strictObject({ tenant: name.optional(), key: name.optional(), ...limitNumbers, costUsdPerDay: amount.optional() });

export const limitOptions = (given: unknown) => readOptions('options of limits.set', tenantLimits, given) as SetLimitsOptions;
const rotation = z.strictObject({ overlap: durationSchema.optional(), tenant: name.optional() });
export const rotationOptions = (given: unknown) => readOptions('options of keys.rotate', rotation, given);
export const keyOptions = (given: unknown) => readOptions('options of keys.create', key, given) as CreateKeyOptions & { expiresIn?: number };
export const scheduleNote = (given: unknown): { note?: string } =>
  readOptions('options of schedules.pause', z.strictObject({ note: reason.optional() }), given);
export const configureOptions = (given: unknown) => readOptions('options of plugins.configure', z.strictObject({ ifVersion: count.optional() }), given);
export const pluginConfig = (given: unknown) => read('config', jsonObject, given);
/** A path must fit into a row of a database index. */
const MAX_PATH_BYTES = 2_000;
const grants = permissionBound.refine(
  ({ fs = [] }) => fs.every((path) => Buffer.byteLength(path) <= MAX_PATH_BYTES && !path.includes('\0')),
  `a path of fs may have ${MAX_PATH_BYTES} bytes, and no NUL`,
);
export const grantsOf = (given: unknown): PermissionBound => read('permissions', grants, given) as PermissionBound;
export const toolOf = (given: unknown): string => read('tool', id, given);
export const nameOf = (what: string, given: unknown): string => read(what, name, given);
export const seqOf = (given: unknown): number | undefined => read('afterSeq', count.optional(), given);
export const turnIdOf = (given: unknown): string | undefined => read('turnId', name.optional(), given);
/** A schema that the caller's own copy of zod may have made. */
export const zodOf = <Value>(given: z.ZodType<Value> | undefined): z.ZodType<Value> | undefined => read('schema', zodSchema.optional(), given);
export const flagOf = (what: string, given: unknown): boolean => read(what, z.boolean(), given);

/** A conversation is named by its id, or by the object that `start` and `chat` return. */
export function conversationIdOf(given: string | Pick<Chat, 'id'>): string {
  if (typeof given === 'string') return nameOf('conversation', given);
  const named = read('conversation', z.looseObject({ id: name }).optional(), given ?? undefined);
  if (named !== undefined) return named.id;
  throw failure('INVALID_ARGUMENT', { what: 'conversation', problem: `it is ${showValue(given)}`, fix: 'Give the id of a conversation, or its Chat' });
}
