import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { reachOf } from '../auth/caller.ts';
import type { Store } from '../../store/store.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { conversationOf } from './conversation-of.ts';
import { cursorOf, pageQuery, readCursor } from './pages.ts';
import { conversation, conversationParams, entry, refusals, seq, state, uiMessage } from './schemas.ts';
import { uiPageOf, uiPageQuery } from './ui-page.ts';

const DEFAULT_PAGE = 50;
/** Entries of a page at most. */
const TRANSCRIPT_PAGE = 200;
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
          forkedFrom: z.string().optional().meta({ description: 'Only forks of this conversation' }),
          ...pageQuery,
        }),
        response: {
          200: z.object({ conversations: z.array(conversation), next: z.string().optional().meta({ description: 'Absent on the last page' }) }),
          ...refusals,
        },
      },
    },
    async ({ caller, query }) => {
      const { agent, limit = DEFAULT_PAGE } = query;
      const reach = reachOf(caller, query);
      // Conversations of another tenant or user are none that this caller has.
      if (!reach) return { conversations: [] };
      const filter = withoutUndefined({ state: query.state, agentId: agent, forkedFrom: query.forkedFrom, ...reach, olderThan: readCursor(query.cursor) });
      const conversations = await store.conversations.list({ ...filter, limit: limit + 1 });
      const page = conversations.slice(0, limit);
      return withoutUndefined({ conversations: page, next: cursorOf(conversations.length > limit ? page.at(-1) : undefined) });
    },
  );
}

function addReads(api: Api, parts: RouteParts): void {
  const { store } = parts;
  api.get(
    '/v1/conversations/:id',
    {
      config: { ...READ, errors: ['CONVERSATION_NOT_FOUND'] },
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
      config: { ...READ, errors: ['CONVERSATION_NOT_FOUND'] },
      schema: {
        summary: 'Read what was said, in order',
        tags: ['conversations'],
        params: conversationParams,
        querystring: z.strictObject({
          after: seq.optional().meta({ description: 'Only entries after this number; default 0' }),
          limit: seq
            .pipe(z.int().min(1).max(TRANSCRIPT_PAGE))
            .optional()
            .meta({ description: `Default ${TRANSCRIPT_PAGE}` }),
          format: z.enum(['entries', 'ui']).optional().meta({ description: '`ui`: as messages of the AI SDK (`UIMessage[]`), the newest ones' }),
          before: uiPageQuery.before.meta({ description: 'With `ui`: only messages before this place' }),
        }),
        response: {
          200: z.union([
            z.object({ entries: z.array(entry), next: z.int().optional().meta({ description: 'The `after` of the next page; absent on the last page' }) }),
            z.object({
              messages: z.array(uiMessage),
              next: z.int().optional().meta({ description: 'The `before` of the page with older messages; absent when there are none' }),
            }),
          ]),
          ...refusals,
        },
      },
    },
    async ({ caller, params, query: { after, before, limit, format } }) => {
      const { conversationId: id } = await conversationOf(store, caller, params.id);
      if (format === 'ui' && after === undefined) return uiPageOf(parts, id, { before, limit });
      if (format !== 'ui' && before === undefined) return pageOf(store, id, { after, limit });
      const [what, wanted] = format === 'ui' ? ['query.after', 'entries'] : ['query.before', 'messages (format=ui)'];
      throw failure('INVALID_ARGUMENT', { what, problem: `it is for ${wanted}`, fix: 'Leave it out, or change the format' });
    },
  );
}

async function pageOf(
  { transcript }: Pick<Store, 'transcript'>,
  id: string,
  { after, limit = TRANSCRIPT_PAGE }: { after?: number | undefined; limit?: number | undefined },
) {
  const found = await transcript.readAll(id, after, limit + 1);
  const entries = found.slice(0, limit);
  return withoutUndefined({ entries, next: found.length > limit ? entries.at(-1)?.seq : undefined });
}
