import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/log.ts';

/** One line for each request, when its answer or its connection has ended. */
export interface AccessLog {
  /** Follows a request from its arrival on. */
  follow(this: void, raw: IncomingMessage, response: ServerResponse): void;
  /** Adds what is known about a request when its route has been looked for. */
  know(request: FastifyRequest): void;
}

/** What load balancers and monitoring ask every few seconds. */
const ROUTINE = new Set(['/healthz', '/readyz', '/metrics']);

/** A line has no address, no header and no content: addresses may have keys, tokens, texts and names of files in them. */
export function createAccessLog(log: Logger): AccessLog {
  const known = new WeakMap<IncomingMessage, FastifyRequest>();
  return {
    know: (request) => void known.set(request.raw, request),
    follow(raw, response) {
      const { socket, method } = raw;
      const [startedAt, sentBefore] = [performance.now(), socket.bytesWritten];
      response.once('close', () => {
        const route = known.get(raw)?.routeOptions.url;
        const line = {
          method,
          route: route ?? 'none',
          ...(response.headersSent && { status: response.statusCode }),
          ...(!response.writableFinished && { broken: true }),
          ms: Math.round(performance.now() - startedAt),
          bytes: socket.bytesWritten - sentBefore,
          ...factsOf(known.get(raw)),
        };
        log[route !== undefined && ROUTINE.has(route) ? 'debug' : 'info'](line, 'request');
      });
    },
  };
}

/** Who asked, in the words of the audit log, and the id that the errors of the request have. A request that was refused early has no caller. */
function factsOf(request: FastifyRequest | undefined): object {
  if (!request) return {};
  const caller = request.caller as FastifyRequest['caller'] | undefined;
  return { ...(caller && { actor: caller.actor }), ...(caller?.tenantId !== undefined && { tenant: caller.tenantId }), request: request.id };
}
