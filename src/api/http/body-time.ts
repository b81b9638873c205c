import type { FastifyBaseLogger, FastifyInstance, RawReplyDefaultExpression, RawRequestDefaultExpression, RawServerDefault } from 'fastify';
import { REQUEST_MS } from './limits.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes a body of any size, and itself ends one that stops to come. */
    streamsBody?: true;
  }
}

type Server<Log extends FastifyBaseLogger> = FastifyInstance<RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, Log>;

/** Cuts requests whose body is not there in time. Node's own limit would hold for routes that stream theirs, too. */
export function limitBodyTime<Log extends FastifyBaseLogger>(server: Server<Log>): void {
  server.addHook('onRequest', async ({ raw, routeOptions }) => {
    if (routeOptions.config.streamsBody) return;
    const timer = setTimeout(() => {
      if (!raw.complete) raw.destroy();
    }, REQUEST_MS).unref();
    raw.once('close', () => clearTimeout(timer));
  });
}
