import { z } from 'zod';
import { id } from '../../common/arguments.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { DEFAULT_LEASE_MS, MAX_LEASE_MS, MAX_REQUESTED_TOOLS } from '../../contracts/client-tool.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationId, refusals } from './schemas.ts';

/** More than the largest result, so that one that is a little larger gets the error that says so. */
const BODY_BYTES = 2_000_000;
const WRITE = 'conversations:write';
const TAGS = ['conversations'];

const callId = z.string().meta({ description: 'Id of a call', example: 'call_01kq0p0g7fm3c8w2y5t9x200' });
const time = z.string().meta({ description: 'ISO 8601, UTC' });
const params = z.object({ id: conversationId, callId });
const call = {
  callId,
  name: z.string().meta({ description: 'Name of the tool, as its declaration has it', example: 'open_file' }),
  askedAt: time,
  deadline: time.optional().meta({ description: 'No result is taken any more then; absent when it waits without limit' }),
  heldUntil: time.optional().meta({ description: 'A client has the call until then' }),
};
const holder = id.meta({ description: 'Names the client, such as a random id of a page', example: 'page-7c1e' });

/** What a start or a message declares. */
export const clientToolsBody = z
  .record(
    z.string(),
    z.looseObject({
      description: z.string().meta({ description: 'What it does; the model reads this' }),
      parameters: z.record(z.string(), z.json()).optional().meta({ description: 'JSON Schema of the arguments, an object; default: no arguments' }),
      output: z.record(z.string(), z.json()).optional().meta({ description: 'JSON Schema of the result; default: any JSON value' }),
      timeout: z.union([z.string(), z.number()]).optional().meta({ description: 'How long a result is waited for; 0 for ever; default 10m', example: '30s' }),
      otherwise: z.enum(['unavailable', 'fail']).optional().meta({ description: 'When no result has come: the model is told, or the turn fails' }),
      requireApproval: z.boolean().optional(),
    }),
  )
  .meta({
    description: `Tools that clients run, by name, where the agent takes them from requests; up to ${MAX_REQUESTED_TOOLS}. They hold until a message declares others`,
    example: { show_map: { description: 'Shows a place on a map.', parameters: { type: 'object', properties: { place: { type: 'string' } } } } },
  });

/** The calls of tools that clients run. */
export function addClientToolRoutes(api: Api, parts: RouteParts): void {
  addList(api, parts);
  addClaim(api, parts);
  addResult(api, parts);
}

function addList(api: Api, { store, longshore }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/tools',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        summary: 'List the calls that wait for a client',
        description: 'Oldest first. The event `tool.waiting` says when there is another one.',
        tags: TAGS,
        params: z.object({ id: conversationId }),
        response: {
          200: z.object({ calls: z.array(z.object(call)), seq: z.int().meta({ description: "Number of the conversation's last event" }) }),
          ...refusals,
        },
      },
    },
    async ({ caller, params }) => longshore.waitingCalls((await conversationOf(store, caller, params.id)).conversationId),
  );
}

function addClaim(api: Api, { store, longshore }: RouteParts): void {
  api.post(
    '/v1/conversations/:id/tools/:callId/claim',
    {
      config: { scope: WRITE, repeated: 'answer', errors: ['CONVERSATION_NOT_FOUND', 'CLIENT_CALL_NOT_FOUND', 'CLIENT_CALL_TAKEN', 'CLIENT_CALL_ENDED'] },
      schema: {
        summary: 'Take a call that waits for a client',
        description: 'No other client can take it meanwhile. The same holder may take it again, to have it for longer.',
        tags: TAGS,
        params,
        body: z.strictObject({
          holder,
          leaseMs: z
            .number()
            .min(0)
            .max(MAX_LEASE_MS)
            .optional()
            .meta({ description: `For how long; default ${DEFAULT_LEASE_MS}. 0 gives the call back`, example: 30_000 }),
        }),
        response: { 200: z.object({ ...call, arguments: z.record(z.string(), z.json()) }), ...refusals },
      },
    },
    async ({ caller, params, body }) => {
      const { conversationId: of } = await conversationOf(store, caller, params.id);
      return longshore.claimCall(of, { ...withoutUndefined(body), callId: params.callId });
    },
  );
}

function addResult(api: Api, { store, longshore }: RouteParts): void {
  api.post(
    '/v1/conversations/:id/tools/:callId/result',
    {
      config: {
        scope: WRITE,
        repeated: 'answer',
        errors: [
          'CONVERSATION_NOT_FOUND',
          'CLIENT_CALL_NOT_FOUND',
          'CLIENT_CALL_TAKEN',
          'CLIENT_CALL_ENDED',
          'CLIENT_RESULT_DIFFERENT',
          'CLIENT_RESULT_INVALID',
          'CLIENT_RESULT_TOO_LARGE',
        ],
      },
      bodyLimit: BODY_BYTES,
      schema: {
        summary: 'Give the result of a call that a client has run',
        description: 'It counts once: the same result may be given again, and another one is refused.',
        tags: TAGS,
        params,
        body: z.strictObject({
          result: z.json().meta({ description: 'Any JSON value, as the tool declares it', example: { opened: true } }),
          isError: z.boolean().optional().meta({ description: 'The tool has failed, and `result` says why' }),
          holder: holder.optional(),
        }),
        response: { 200: z.object({ accepted: z.literal(true) }), ...refusals },
      },
    },
    async ({ caller, params, body }) => {
      const { conversationId: of } = await conversationOf(store, caller, params.id);
      await longshore.giveResult(of, { ...withoutUndefined(body), callId: params.callId });
      return { accepted: true as const };
    },
  );
}
