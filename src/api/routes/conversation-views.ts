import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { mayReach } from '../auth/caller.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from './conversation-of.ts';
import { cursorOf, pageQuery, readCursor } from './pages.ts';
import { conversation, conversationParams, entry, refusals, seq, state } from './schemas.ts';

const DEFAULT_PAGE = 50;
const READ = { scope: 'conversations:read' } as const;

export function addConversationViews(api: Api, parts: RouteParts): void {
  addList(api, parts);
  addReads(api, parts);
}

function addList(api: Api, { store }: RouteParts): void {
  api.get(
    '/v1/conversations',
    {
      config: READ,
      schema: {
        summary: 'List conversations, newest first',
        tags: ['conversations'],
        querystring: z.strictObject({
          state: state.optional(),
          agent: z.string().optional(),
          user: z.string().optional(),
          tenant: z.string().optional().meta({ description: "With an operator's key only" }),
          ...pageQuery,
        }),
        response: {
          200: z.object({ conversations: z.array(conversation), next: z.string().optional().meta({ description: 'Absent on the last page' }) }),
          ...refusals,
        },
      },
    },
    async ({ caller, query }) => {
      const { agent, user, limit = DEFAULT_PAGE } = query;
      const { tenantId = query.tenant } = caller;
      // Another tenant's conversations are none that this caller has.
      if (query.tenant !== undefined && !mayReach(caller, query.tenant)) return { conversations: [] };
      const filter = withoutUndefined({ state: query.state, agentId: agent, userId: user, tenantId, olderThan: readCursor(query.cursor) });
      const conversations = await store.conversations.list({ ...filter, limit: limit + 1 });
      const page = conversations.slice(0, limit);
      return withoutUndefined({ conversations: page, next: cursorOf(conversations.length > limit ? page.at(-1) : undefined) });
    },
  );
}

function addReads(api: Api, { longshore, store }: RouteParts): void {
  api.get(
    '/v1/conversations/:id',
    {
      config: READ,
      schema: {
        summary: 'Read a conversation and its status',
        tags: ['conversations'],
        params: conversationParams,
        response: { 200: conversation, ...refusals },
      },
    },
    async ({ caller, params }) => conversationOf(store, caller, params.id),
  );
  api.get(
    '/v1/conversations/:id/transcript',
    {
      config: READ,
      schema: {
        summary: 'Read what was said',
        tags: ['conversations'],
        params: conversationParams,
        querystring: z.strictObject({ after: seq.optional() }),
        response: { 200: z.object({ entries: z.array(entry) }), ...refusals },
      },
    },
    async ({ caller, params, query }) => {
      const { conversationId: id } = await conversationOf(store, caller, params.id);
      return { entries: await longshore.transcript(id, query.after) };
    },
  );
}
