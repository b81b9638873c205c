import type { FastifyRequest } from 'fastify';
import type { RequestLimiter } from '../auth/request-limiter.ts';
import type { Api } from './route-parts.ts';

/** Limits the requests of all routes that know their callers beforehand. Comes after authentication. */
export function limitRequests(api: Api, limit: RequestLimiter): void {
  api.decorateRequest('held');
  api.addHook('onRequest', async (request) => {
    const caller = request.caller as FastifyRequest['caller'] | undefined;
    // Who floods an address of a plugin uses up its own limit only, and keeps no other caller of the tenant out.
    if (caller && request.routeOptions.config.link !== 'plugin') await limit(request);
    else request.held = [];
  });
}
