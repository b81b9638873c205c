import type { Scope } from '../../contracts/api-key.ts';
import type { FileLink } from '../../store/service/file-links.ts';
import type { WebhookPlace } from '../../store/service/plugin-webhooks.ts';
import type { Store } from '../../store/store.ts';
import type { Api } from './route-parts.ts';
import { callerOfLink, fileLinkOf } from '../auth/file-link-caller.ts';
import { callerOfWebhook, pluginWebhookOf } from '../auth/plugin-webhook-caller.ts';
import { callerOf, requireScope, type Caller, type TokenVerifier } from '../auth/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    /** Of a route that links to files lead to. */
    fileLink: FileLink;
    /** Of the route of addresses that lead to functions of plugins. */
    pluginWebhook: WebhookPlace;
  }
  interface FastifyContextConfig {
    /** The scope that a request of this route needs, or `none` for a route that is open to all. */
    scope?: Scope | 'none';
    /** Links of this kind lead to the route: the parameter `token` is in place of a key. */
    link?: FileLink['kind'] | 'plugin';
  }
}

/** Lets only callers with a valid key or token and the route's scope, or with a valid link, through. A route that names no scope keeps the service from starting. */
export function addAuthentication(api: Api, store: Pick<Store, 'apiKeys' | 'fileLinks' | 'pluginWebhooks'>, oidc: TokenVerifier | undefined): void {
  const { apiKeys, fileLinks, pluginWebhooks } = store;
  api.decorateRequest('caller');
  api.decorateRequest('fileLink');
  api.decorateRequest('pluginWebhook');
  api.addHook('onRoute', ({ url, config }) => {
    if (config?.scope === undefined) throw new Error(`the route ${url} names no scope`);
  });
  api.addHook('onRequest', async (request) => {
    const { scope, link } = request.routeOptions.config;
    if (link === 'plugin') {
      request.pluginWebhook = await pluginWebhookOf(pluginWebhooks, (request.params as { token: string }).token);
      request.caller = callerOfWebhook(request.pluginWebhook);
      return;
    }
    if (link !== undefined) {
      request.fileLink = await fileLinkOf(fileLinks, (request.params as { token: string }).token, link);
      request.caller = callerOfLink(request.fileLink);
      return;
    }
    // Without a scope there is no route: the answer is 404, which tells nothing that needs a key.
    if (scope === undefined || scope === 'none') return;
    request.caller = await callerOf(request, apiKeys, oidc);
    requireScope(request.caller, scope);
  });
}
