import { z } from 'zod';
import { EVENT_TYPES, type ConversationEvent, type EventType } from '../../contracts/events.ts';
import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';
import { readStoredTree, startOfTree } from '../../client/events/read-tree.ts';
import type { TreePlace } from '../../client/events/tree-cursor.ts';
import { answerWithStream, answerWithTree } from '../http/answer-with-stream.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import type { FrameReader } from '../stream/event-frames.ts';
import { viewOfEvents } from '../stream/event-view.ts';
import { readLog } from '../stream/read-log.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationParams, event, eventType, problem, seq } from './schemas.ts';

const PAGE_LIMIT = 500;
/** Of a page, and one event. */
const PAGE_BYTES = 1024 * 1024;
/** Characters of a place in a tree. */
const MOST_PLACE = 50_000;
const TREE_EXAMPLE = 'retry: 1000\n\nid: conv_1:12,conv_2:3\ndata: {"seq":3,"conversationId":"conv_2","type":"text.delta","data":{"text":"Ahoy."}}\n\n';
const STREAM_EXAMPLE = 'retry: 1000\n\nid: 7\ndata: {"seq":7,"type":"text.delta","data":{"text":"Ahoy."}}\n\n';

const typeList = z
  .string()
  .transform((text) => text.split(',').map((one) => one.trim()))
  .pipe(z.array(eventType).min(1).max(EVENT_TYPES.length))
  .meta({ description: 'Only events of these types, separated by commas', example: 'text.delta,turn.finished' });

export function addEventRoutes(api: Api, parts: RouteParts): void {
  const { store, readFrames } = parts;
  api.get(
    '/v1/conversations/:id/events',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND', 'STREAM_LIMIT'], stream: STREAM_EXAMPLE },
      schema: {
        summary: 'Read or follow the events of a conversation',
        description:
          'With `accept: text/event-stream`, a stream: the events after `Last-Event-ID` or `after`, and then those that come, until the conversation is closed. ' +
          'The `id` of each is its number. A reader that was cut connects again with `Last-Event-ID` and misses nothing; 204 says that nothing comes any more. ' +
          'Otherwise a page as JSON: `next` is the `after` of the next page.',
        tags: ['conversations'],
        params: conversationParams,
        querystring: z.object({
          after: seq.optional().meta({ description: 'Only events after this number; default 0. `Last-Event-ID` has precedence.' }),
          types: typeList.optional(),
          until: eventType.optional().meta({ description: 'A stream ends after the first event of this type' }),
          limit: seq.pipe(z.int().min(1).max(PAGE_LIMIT)).optional().meta({ description: 'Of a page; default 500' }),
        }),
        headers: z.looseObject({ 'last-event-id': seq.optional(), accept: z.string().optional() }),
        response: {
          200: z.object({ events: z.array(event), next: z.int().optional().meta({ description: 'Absent at the end of the log' }) }),
          204: z.undefined().meta({ description: 'The conversation is closed, and has no event after this, or none of these types' }),
          401: problem,
          403: problem,
          404: problem,
          429: problem,
        },
      },
    },
    async (request, reply) => {
      const { query, headers, caller } = request;
      const { conversationId, state } = await conversationOf(store, caller, request.params.id);
      const afterSeq = headers['last-event-id'] ?? query.after ?? 0;
      const types: ReadonlySet<EventType> | undefined = query.types && new Set(query.types);
      if (!(headers.accept ?? '').includes('text/event-stream')) return readPage(store, { conversationId, afterSeq, types }, query);
      if (state === 'closed' && !(await hasMore(readFrames, { conversationId, afterSeq, types }))) return reply.code(204).send();
      await answerWithStream(parts, request, reply, async () => ({ conversationId, afterSeq, view: viewOfEvents(types, query.until) }));
      return reply;
    },
  );
}

/** The events of a conversation with those of its sub-agents. */
export function addTreeEventRoute(api: Api, parts: RouteParts): void {
  const { store } = parts;
  const place = z.string().max(MOST_PLACE).optional();
  api.get(
    '/v1/conversations/:id/tree/events',
    {
      config: { scope: 'conversations:read', errors: ['CONVERSATION_NOT_FOUND', 'STREAM_LIMIT'], stream: TREE_EXAMPLE },
      schema: {
        summary: 'Follow the events of a conversation and of all its sub-agents',
        description:
          'With `accept: text/event-stream`, a stream of the events of a tree of conversations, until all of them are closed. Each event comes once; those of one ' +
          'conversation come in their order, and after the `agent.started` of the conversation that gave the task. `conversationId` says whose event it is. The ' +
          '`id` of an event is a place in the tree: a reader that was cut connects again with `Last-Event-ID` and misses nothing; 204 says that nothing comes any ' +
          'more. Otherwise a page as JSON: `next` is the `after` of the next page.',
        tags: ['conversations'],
        params: conversationParams,
        querystring: z.object({
          after: place.meta({ description: 'Only events behind this place. `Last-Event-ID` has precedence.' }),
          limit: seq.pipe(z.int().min(1).max(PAGE_LIMIT)).optional().meta({ description: 'Of a page; default 500' }),
        }),
        headers: z.looseObject({ 'last-event-id': place, accept: z.string().optional() }),
        response: {
          200: z.object({ events: z.array(event), next: z.string().optional().meta({ description: 'Absent at the end of all logs' }) }),
          204: z.undefined().meta({ description: 'All conversations are closed, and have no event after this' }),
          400: problem,
          401: problem,
          403: problem,
          404: problem,
          429: problem,
        },
      },
    },
    async (request, reply) => {
      const { conversationId } = await conversationOf(store, request.caller, request.params.id);
      const { headers, query } = request;
      const start = await startOfTree(store, conversationId, headers['last-event-id'] ?? query.after);
      if (!(headers.accept ?? '').includes('text/event-stream')) return readTreePage(store, start, query.limit);
      if (start.size === 0) return reply.code(204).send();
      await answerWithTree(parts, request, reply, start);
      return reply;
    },
  );
}

async function readTreePage(store: Store, place: TreePlace, limit = PAGE_LIMIT): Promise<{ events: ConversationEvent[]; next?: string }> {
  const events: ConversationEvent[] = [];
  let next: string | undefined;
  let bytes = 0;
  for await (const { cursor, ...one } of readStoredTree(store, place, new AbortController().signal)) {
    events.push(one);
    next = cursor;
    bytes += JSON.stringify(one).length;
    if (events.length === limit || bytes > PAGE_BYTES) break;
  }
  return { events, ...(next !== undefined && { next }) };
}

interface Wanted {
  conversationId: string;
  afterSeq: number;
  types: ReadonlySet<EventType> | undefined;
}

/** A reader of some types has the number of the last event that it was shown, after which others may have come. */
async function hasMore(readFrames: FrameReader, { conversationId, afterSeq, types }: Wanted): Promise<boolean> {
  for await (const { type } of readLog(readFrames, conversationId, afterSeq)) if (!types || types.has(type)) return true;
  return false;
}

async function readPage(
  { events }: Pick<Store, 'events'>,
  { conversationId, afterSeq, types }: Wanted,
  { until, limit = PAGE_LIMIT }: { until?: EventType | undefined; limit?: number | undefined },
): Promise<{ events: ConversationEvent[]; next?: number }> {
  if (until !== undefined) throw failure('INVALID_ARGUMENT', { what: 'query.until', problem: 'it is for a stream', fix: 'Send accept: text/event-stream' });
  const page = await events.read(conversationId, afterSeq, { limit, bytes: PAGE_BYTES });
  const next = page.at(-1)?.seq;
  return { events: types ? page.filter(({ type }) => types.has(type)) : page, ...(next !== undefined && { next }) };
}
