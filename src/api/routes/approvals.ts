import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import type { ApprovalAnswer } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import { mayReach, reachOf } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { cursorOf, pageQuery, readCursor } from './pages.ts';
import { COMMAND_ERRORS, conversationOf } from './conversation-of.ts';
import { conversationId, conversationParams, path, pendingApproval, refusals } from './schemas.ts';

const DEFAULT_PAGE = 50;
const RESOLVE = { scope: 'approvals:resolve' } as const;
const answer = z.enum(['allow', 'allow-once', 'deny'] satisfies ApprovalAnswer[]);

/** The calls that wait for a person, over all conversations of the caller. */
export function addApprovalRoutes(api: Api, parts: RouteParts): void {
  addInbox(api, parts);
  addAnswer(api, parts);
  addRevocation(api, parts);
}

function addInbox(api: Api, { store }: RouteParts): void {
  api.get(
    '/v1/approvals',
    {
      config: RESOLVE,
      schema: {
        summary: 'List the calls that wait for a person',
        description: 'Those of the newest conversations first. A page has up to `limit` conversations, with all calls of each that wait.',
        tags: ['approvals'],
        querystring: z.strictObject(pageQuery),
        response: {
          200: z.object({
            approvals: z.array(z.object({ conversationId, path: path.optional(), agentId: z.string(), userId: z.string(), approval: pendingApproval })),
            next: z.string().optional().meta({ description: 'Absent on the last page' }),
          }),
          ...refusals,
        },
      },
    },
    async ({ caller, query: { limit = DEFAULT_PAGE, cursor } }) => {
      const filter = withoutUndefined({ ...reachOf(caller, {}), olderThan: readCursor(cursor) });
      const rows = await store.conversations.list({ ...filter, hasApprovals: true, limit: limit + 1 });
      const page = rows.slice(0, limit);
      const approvals = page.flatMap(({ conversationId: id, agentId, userId, status: { pendingApprovals, parent } }) =>
        pendingApprovals.map((approval) => ({ conversationId: id, ...(parent && { path: parent.path }), agentId, userId, approval })),
      );
      return withoutUndefined({ approvals, next: cursorOf(rows.length > limit ? page.at(-1) : undefined) });
    },
  );
}

function addRevocation(api: Api, { longshoreFor, store }: RouteParts): void {
  api.delete(
    '/v1/conversations/:id/allowed-tools/:tool',
    {
      config: { ...RESOLVE, errors: [...COMMAND_ERRORS, 'CONVERSATION_SUSPENDED', 'NO_WORKER'] },
      schema: {
        summary: 'Take back that a tool is allowed for the rest of a conversation',
        description: 'Calls about which is decided from then on ask again. `allowedTools` of the status has the tools that are allowed.',
        tags: ['approvals'],
        params: conversationParams.extend({ tool: z.string().meta({ description: 'Id of a tool', example: 'shell:run' }) }),
        querystring: z.strictObject({ by: z.string().optional().meta({ description: 'Who revokes; shown in the events. With a token, its user' }) }),
        response: {
          200: z.object({
            tool: z.string(),
            revoked: z.boolean().meta({ description: 'False when the tool was not allowed for the rest of the conversation' }),
          }),
          ...refusals,
        },
      },
    },
    async (request) => {
      const { actor } = request.caller;
      const { conversationId } = await conversationOf(store, request.caller, request.params.id);
      const by = actor.kind === 'oidc' ? actor.id : request.query.by;
      return longshoreFor(request).revokeAllowed(conversationId, request.params.tool, withoutUndefined({ by }));
    },
  );
}

function addAnswer(api: Api, { longshoreFor, store }: RouteParts): void {
  api.post(
    '/v1/approvals/:callId',
    {
      config: {
        repeated: 'answer',
        ...RESOLVE,
        errors: [
          'APPROVAL_NOT_FOUND',
          'APPROVAL_MISMATCH',
          'TOOL_ARGUMENTS_INVALID',
          'CONVERSATION_CLOSED',
          'CONVERSATION_UNSTARTED',
          'CONVERSATION_SUSPENDED',
          'NO_WORKER',
        ],
      },
      schema: {
        summary: 'Answer a call that waits for a person',
        tags: ['approvals'],
        params: z.object({ callId: z.string() }),
        querystring: z.object({ conversationId: conversationId.optional().meta({ description: 'Whose call it has to be' }) }),
        body: z.strictObject({
          answer: answer.meta({ description: '`allow` allows the tool for the rest of the conversation, too' }),
          hash: z.string().optional().meta({ description: 'The hash that the person saw: an answer to another call is refused' }),
          editedArguments: z.record(z.string(), z.json()).optional().meta({ description: 'Runs the call with these instead' }),
          reason: z.string().optional(),
          by: z.string().optional().meta({ description: 'Who answers; shown in the events. With a token, its user' }),
        }),
        response: { 200: z.object({ callId: z.string(), answer }), ...refusals },
      },
    },
    async (request) => {
      const {
        caller,
        caller: { actor },
        params: { callId },
        query: { conversationId: wanted },
        body,
      } = request;
      const call = await store.toolCalls.get(callId);
      const row = call && (await store.conversations.get(call.conversationId));
      const isMeant = wanted === undefined || wanted === row?.conversationId;
      if (!call || !row || !isMeant || !mayReach(caller, row)) throw failure('APPROVAL_NOT_FOUND', { callId, conversationId: wanted ?? '<conversation>' });
      const { conversationId: id, turnId } = call;
      const answered = await longshoreFor(request).approve(id, {
        ...withoutUndefined(body),
        ...(actor.kind === 'oidc' && { by: actor.id }),
        callId,
      });
      request.ledTo = { conversationId: id, turnId };
      return answered;
    },
  );
}
