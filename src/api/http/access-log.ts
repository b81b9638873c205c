import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/log.ts';
import { socketEndOf } from './socket-ends.ts';

/** One line for each request, when its answer or its connection has ended. */
export interface AccessLog {
  /** Follows a request from its arrival on. */
  follow(this: void, raw: IncomingMessage, response: ServerResponse): void;
  /** Adds what is known about a request when its route has been looked for. */
  know(request: FastifyRequest): void;
}

/** A request whose answer or connection has ended. */
export interface EndedRequest {
  method: string;
  /** Undefined where there is no such route. */
  route: string | undefined;
  /** Undefined when the connection ended before the answer began. */
  status: number | undefined;
  ms: number;
  /** A stream of events or a WebSocket, whose length says nothing about the service. */
  isStream: boolean;
}

/** What load balancers and monitoring ask every few seconds. */
const ROUTINE = new Set(['/healthz', '/readyz', '/metrics']);

/** A line has no address, no header and no content: addresses may have keys, tokens, texts and names of files in them. `ended` is called for each request. */
export function createAccessLog(log: Logger, ended: (request: EndedRequest) => void): AccessLog {
  const known = new WeakMap<IncomingMessage, FastifyRequest>();
  return {
    know: (request) => void known.set(request.raw, request),
    follow(raw, response) {
      const { socket, method = '' } = raw;
      const [startedAt, sentBefore] = [performance.now(), socket.bytesWritten];
      response.once('close', () => {
        const request = known.get(raw);
        const route = request?.routeOptions.url;
        const { status, isBroken, isStream } = endOf(raw, response);
        const ms = performance.now() - startedAt;
        const line = {
          method,
          route: route ?? 'none',
          ...(status !== undefined && { status }),
          ...(isBroken && { broken: true }),
          ms: Math.round(ms),
          bytes: socket.bytesWritten - sentBefore,
          ...factsOf(request),
        };
        log[route !== undefined && ROUTINE.has(route) ? 'debug' : 'info'](line, 'request');
        ended({ method, route, status, ms, isStream });
      });
    },
  };
}

function endOf(raw: IncomingMessage, response: ServerResponse): Pick<EndedRequest, 'status' | 'isStream'> & { isBroken: boolean } {
  const taken = socketEndOf(raw);
  if (taken) return { ...taken, isStream: true };
  const isStream = String(response.getHeader('content-type')).startsWith('text/event-stream');
  return { status: response.headersSent ? response.statusCode : undefined, isBroken: !response.writableFinished, isStream };
}

/** Who asked, in the words of the audit log, and the id that the errors of the request have. A request that was refused early has no caller. */
function factsOf(request: FastifyRequest | undefined): object {
  if (!request) return {};
  const caller = request.caller as FastifyRequest['caller'] | undefined;
  return { ...(caller && { actor: caller.actor }), ...(caller?.tenantId !== undefined && { tenant: caller.tenantId }), request: request.id };
}
