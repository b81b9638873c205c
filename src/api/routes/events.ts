import { z } from 'zod';
import { EVENT_TYPES, type ConversationEvent, type EventType } from '../../contracts/events.ts';
import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';
import { answerWithStream } from '../http/answer-with-stream.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { viewOfEvents } from '../stream/event-view.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationParams, event, eventType, problem, seq } from './schemas.ts';

const PAGE_LIMIT = 500;
/** Of a page, and one event. */
const PAGE_BYTES = 1024 * 1024;
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
          204: z.undefined().meta({ description: 'The conversation is closed, and has no event after this' }),
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
      if (state === 'closed' && (await readFrames(conversationId, afterSeq)).length === 0) return reply.code(204).send();
      await answerWithStream(parts, request, reply, async () => ({ conversationId, afterSeq, view: viewOfEvents(types, query.until) }));
      return reply;
    },
  );
}

interface Wanted {
  conversationId: string;
  afterSeq: number;
  types: ReadonlySet<EventType> | undefined;
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
