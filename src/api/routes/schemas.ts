import { z } from 'zod';
import type { ConversationState, PendingApproval, TurnOutcome } from '../../contracts/conversation.ts';
import { EVENT_TYPES, type ConversationEvent } from '../../contracts/events.ts';
import { PLAN_STATUSES } from '../../contracts/plan/plan.ts';
import { CUT_OFF, type StoredEntry } from '../../contracts/transcript.ts';
import type { ConversationRow } from '../../store/store.ts';
import type { UiMessage } from '../protocols/ui-stream/ui-messages.ts';

/** The shapes of the API, as requests are checked against and the OpenAPI document shows them. */
export const conversationId = z.string().meta({ description: 'Id of a conversation', example: 'conv_01kq0p0g7fm3c8w2y5t9x1' });
export const conversationParams = z.object({ id: conversationId });

/** Of routes that make the ids of what they start of it. */
export const idempotencyHeader = {
  'idempotency-key': z.string().optional().meta({ description: 'Makes a repetition of the request safe', example: 'order-4711' }),
};

export const eventType = z.enum(EVENT_TYPES);
export const event = valuesOf<ConversationEvent>(
  z
    .looseObject({
      seq: z.int().meta({ description: 'Starts at 1 and has no gaps' }),
      at: z.string().meta({ description: 'ISO 8601, UTC' }),
      conversationId,
      turnId: z.string().optional(),
      stepId: z.string().optional(),
      attempt: z.int().optional(),
      type: eventType,
      data: z.looseObject({}).meta({ description: 'Its fields depend on the type' }),
    })
    .meta({ id: 'Event' }),
);

export const state = z.enum(['running', 'idle', 'awaiting-approval', 'paused', 'closing', 'closed'] satisfies ConversationState[]);
export const pendingApproval = valuesOf<PendingApproval>(
  z
    .looseObject({
      callId: z.string(),
      tool: z.string(),
      turnId: z.string(),
      hash: z.string().meta({ description: 'Of tool, arguments and version of the plugin; an answer names it' }),
      arguments: z.record(z.string(), z.json()).optional().meta({ description: 'Absent over 16 KB, or 128 KB with those of other approvals: see the events' }),
      why: z.string().meta({ description: 'Why a person is asked' }),
      requestedAtMs: z.number(),
      expiresAtMs: z.number().meta({ description: '0 when it waits without limit' }),
    })
    .meta({ id: 'PendingApproval' }),
);

export const path = z
  .array(z.string())
  .meta({ description: 'Of a sub-agent: the conversations above it, from the one that a client started', example: ['conv_01jd2x'] });
const parent = z.looseObject({ conversationId, callId: z.string(), path });

const status = z
  .looseObject({
    conversationId,
    agentId: z.string(),
    userId: z.string(),
    tenantId: z.string(),
    state,
    turnId: z.string().optional(),
    queued: z.int(),
    turnsUsed: z.int(),
    tokensUsed: z.number(),
    parent: parent.optional().meta({ description: 'Of a sub-agent: the conversation and the call that gave it its task' }),
    forkedFrom: z
      .looseObject({ conversationId, transcriptSeq: z.int() })
      .optional()
      .meta({ description: 'Of a fork: the conversation, and the number of the last entry that it has from there' }),
    importedFrom: z
      .looseObject({ conversationId, exportedAt: z.string() })
      .optional()
      .meta({ description: 'Of an imported one: the conversation that was exported, perhaps elsewhere, and when' }),
    forks: z.int().optional().meta({ description: 'How many forks of it there are' }),
    usage: z.looseObject({}).optional().meta({ description: 'Tokens and cost of its model calls, as in /v1/usage' }),
    pendingApprovals: z.array(pendingApproval),
    allowedTools: z
      .array(z.looseObject({ tool: z.string(), callId: z.string().optional(), by: z.string().optional(), at: z.string().optional() }))
      .optional()
      .meta({ description: 'Tools that a person has allowed for the rest of the conversation' }),
    runningCalls: z.array(z.looseObject({ callId: z.string(), tool: z.string() })),
    plan: z
      .array(z.looseObject({ text: z.string(), status: z.enum(PLAN_STATUSES) }))
      .optional()
      .meta({ description: 'The steps that the agent has planned, while it has a plan' }),
    backup: z
      .looseObject({
        at: z.string().optional(),
        files: z.int().optional(),
        bytes: z.int().optional(),
        due: z.literal(true).optional(),
        failing: z.literal(true).optional(),
      })
      .optional()
      .meta({
        description:
          'Where the sandbox is backed up: when its files were as they are in the backup, whether newer ones are due, and whether the last try failed',
      }),
  })
  .meta({ id: 'ConversationStatus' });

export const conversation = valuesOf<ConversationRow>(
  z
    .looseObject({ conversationId, agentId: z.string(), userId: z.string(), tenantId: z.string(), createdAt: z.string(), updatedAt: z.string(), status })
    .meta({ id: 'Conversation' }),
);

export const entry = valuesOf<StoredEntry>(
  z.looseObject({ seq: z.int(), turnId: z.string(), entry: z.looseObject({ role: z.string() }) }).meta({ id: 'Entry' }),
);

export const uiMessage = valuesOf<UiMessage>(
  z.looseObject({ id: z.string(), role: z.enum(['user', 'assistant']), parts: z.array(z.looseObject({ type: z.string() })) }).meta({
    id: 'UIMessage',
    description: 'A message as the AI SDK keeps it',
    example: { id: 'turn_01kq0p0g7fm3c8w2y5t9x2', role: 'assistant', parts: [{ type: 'text', text: 'It is high at 12:04.' }] },
  }),
);

export const outputSchema = z.record(z.string(), z.json()).meta({
  description: 'JSON Schema that the answer has to fit, in place of the `output` of the agent; up to 65 536 characters',
  example: { type: 'object', properties: { high: { type: 'string' } }, required: ['high'] },
});

export const turn = z
  .object({
    turnId: z.string(),
    outcome: z.enum(['finished', 'failed', 'interrupted', 'stopped', 'cancelled'] satisfies TurnOutcome[]),
    message: z.string().optional().meta({ description: 'Why it did not finish normally' }),
    reply: z.string().meta({ description: "The agent's last text in the turn; empty when it wrote none" }),
    cutOff: z.enum(CUT_OFF).optional().meta({ description: 'The last answer was cut off at its limit of tokens or by a filter of the provider' }),
    output: z
      .json()
      .optional()
      .meta({ description: 'The answer as a value, when it had to fit a schema', example: { high: '12:04' } }),
  })
  .meta({ id: 'Turn' });

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What is wrong, with which value, and what to do' }),
    code: z.string(),
    retryable: z.boolean(),
    values: z.record(z.string(), z.union([z.string(), z.number()])),
    request: z.string(),
  })
  .meta({ id: 'Problem' });

/** A schema whose values have one of our types. Fields that it does not list pass as they are. */
export function valuesOf<T>(schema: z.ZodType): z.ZodType<T> {
  return schema as z.ZodType<T>;
}

/** A number in a query. */
export const seq = z.coerce.number().pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER));

/** The answers of a route that refuses a request. */
export const refusals = { 400: problem, 401: problem, 403: problem, 404: problem, 409: problem, 422: problem, 429: problem, 503: problem };
