import type { Scope } from '../../contracts/api-key.ts';
import type { Store } from '../../store/store.ts';
import type { Api } from './route-parts.ts';
import { callerOf, requireScope, type Caller } from '../auth/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
  interface FastifyContextConfig {
    /** The scope that a request of this route needs, or `none` for a route that is open to all. */
    scope?: Scope | 'none';
  }
}

/** Lets only callers with a valid key and the route's scope through. A route that names no scope keeps the service from starting. */
export function addAuthentication(api: Api, keys: Store['apiKeys']): void {
  api.decorateRequest('caller');
  api.addHook('onRoute', ({ url, config }) => {
    if (config?.scope === undefined) throw new Error(`the route ${url} names no scope`);
  });
  api.addHook('onRequest', async (request) => {
    const { scope } = request.routeOptions.config;
    // Without a scope there is no route: the answer is 404, which tells nothing that needs a key.
    if (scope === undefined || scope === 'none') return;
    request.caller = await callerOf(request, keys);
    requireScope(request.caller, scope);
  });
}
