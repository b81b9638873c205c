import { z } from 'zod';
import { EVENT_TYPES, type ConversationEvent, type EventType } from '../../contracts/events.ts';
import { failure } from '../../contracts/errors.ts';
import type { Store } from '../../store/store.ts';
import type { Api, RouteParts } from '../http/route-parts.ts';
import { streamEvents } from '../stream/stream-events.ts';
import { conversationOf } from './conversation-of.ts';
import { conversationParams, event, eventType, problem, seq } from './schemas.ts';

const STREAM_HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  // Proxies of the nginx family would collect events otherwise.
  'x-accel-buffering': 'no',
};
const PAGE_LIMIT = 500;

const typeList = z
  .string()
  .transform((text) => text.split(',').map((one) => one.trim()))
  .pipe(z.array(eventType).min(1).max(EVENT_TYPES.length))
  .meta({ description: 'Only events of these types, separated by commas', example: 'text.delta,turn.finished' });

export function addEventRoutes(api: Api, { store, streams, readFrames }: RouteParts): void {
  api.get(
    '/v1/conversations/:id/events',
    {
      config: { scope: 'conversations:read' },
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
      await streams.run(caller.keyId, reply.raw, async (signal) => {
        reply.hijack();
        reply.raw.writeHead(200, STREAM_HEAD);
        await streamEvents(reply.raw, { events: store.events, readFrames }, { conversationId, afterSeq, types, until: query.until, signal });
      });
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
  const page = await events.read(conversationId, afterSeq, { limit });
  const next = page.at(-1)?.seq;
  return { events: types ? page.filter(({ type }) => types.has(type)) : page, ...(next !== undefined && { next }) };
}
