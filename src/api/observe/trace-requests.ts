import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { spanIdOf, turnPlace, type SpanPlace } from '../../traces/trace-ids.ts';
import type { Tracing } from '../../traces/tracing.ts';
import type { Api } from '../http/route-parts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The turn that the request has started, or to a call of which it is an answer. */
    ledTo?: { conversationId: string; turnId: string };
  }
}

const TRACE_ID_BYTES = 16;
/** The header of W3C Trace Context: the trace and the span of the caller. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
const ZEROS = /^0+$/;

/** With tracing, a request that starts a turn or answers one of its calls is a span of its caller's trace, and links to the trace of the turn. */
export function traceRequests(api: Api, tracing: Tracing | undefined): void {
  api.decorateRequest('ledTo');
  api.addHook('onResponse', async (request, reply) => {
    if (tracing && request.ledTo) recordSpan(tracing, request, reply, request.ledTo);
  });
}

function recordSpan(tracing: Tracing, request: FastifyRequest, reply: FastifyReply, { conversationId, turnId }: NonNullable<FastifyRequest['ledTo']>): void {
  const { method, url: route = '' } = request.routeOptions;
  const caller = callerPlace(request.headers['traceparent']);
  const endMs = Date.now();
  tracing.record({
    traceId: caller?.traceId ?? randomBytes(TRACE_ID_BYTES).toString('hex'),
    spanId: spanIdOf('request', request.id),
    ...(caller && { parentSpanId: caller.spanId }),
    name: `${String(method)} ${route}`,
    kind: 'server',
    links: [turnPlace(turnId)],
    startMs: endMs - Math.round(reply.elapsedTime),
    endMs,
    attributes: {
      'http.request.method': String(method),
      'http.route': route,
      'http.response.status_code': reply.statusCode,
      'gen_ai.conversation.id': conversationId,
      'longshore.turn.id': turnId,
    },
  });
}

function callerPlace(header: string | string[] | undefined): SpanPlace | undefined {
  const [, traceId = '', spanId = ''] = (typeof header === 'string' && TRACEPARENT.exec(header)) || [];
  return traceId === '' || ZEROS.test(traceId) || ZEROS.test(spanId) ? undefined : { traceId, spanId };
}
